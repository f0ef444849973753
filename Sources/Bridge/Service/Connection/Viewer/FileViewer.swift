import Locking
import RelayProtocol
import Sealing
package import Vocabulary

/// Offers the files that the agent's tools touch, and reads those that the phone requests
/// (relay.md#relay-to-bridge-rpcs-req_id-frames).
///
/// No work here runs on a socket's thread: the port looks at files, and bytes are sealed where they arrive.
package final class FileViewer: Sendable {
    package struct Parts: Sendable {
        package var files: any AgentFilePort
        package var alarm: any Alarm

        package init(files: any AgentFilePort, alarm: any Alarm) {
            self.files = files
            self.alarm = alarm
        }
    }

    /// The relay's limit for a file (relay.md#size-limits).
    static let sizeLimit = 1_572_864
    private static let setting = "files:"

    private struct State {
        var announced = AnnouncedFiles()
        var queue = FileAnnouncements()
        var looks = FileLooks()
        var told: Set<RelayErrorCode> = []
    }

    private let parts: Parts
    private let loose: LooseCalls
    private let keys: LiveKeys?
    private let journal: any TurnJournal
    private let clock: any Clock
    /// Words for the log alone: no bubble shows that a file is not offered.
    private let note: @Sendable (String) -> Void
    /// The alarm is set and records are submitted under this lock: an older one could otherwise replace a newer one.
    private let state = Locked(State())

    init(
        _ parts: Parts, _ loose: LooseCalls, _ keys: LiveKeys?, journal: any TurnJournal, clock: any Clock,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.parts = parts
        self.loose = loose
        self.keys = keys
        self.journal = journal
        self.clock = clock
        self.note = note
    }

    func stop() { parts.alarm.stop() }

    // MARK: Announcing

    /// Looks at one file after another: an agent that touches hundreds of files at once takes one of the port's places.
    func touched(_ files: [ToolFile], in session: SessionID, _ sealing: TurnSealing) {
        guard let file = files.first else { return }
        let start = state.withLock { $0.looks.began() }
        parts.files.look(at: file.path) { [weak self] result in
            guard let self else { return }
            let counts = state.withLock { $0.looks.ended(start, in: session) }
            guard counts else { return }
            if case .success(let seen) = result {
                announce(FileAnnouncement(session: session, sealing: sealing, use: file.use, file: seen))
            }
            touched(Array(files.dropFirst()), in: session, sealing)
        }
    }

    /// Keeps the file before announcing it, so that the phone can read it at once.
    private func announce(_ announcement: FileAnnouncement) {
        let isSealed = announcement.sealing != .open
        let session = announcement.session
        state.withLock { state in
            state.queue.add(announcement)
            let (isNew, others) = state.announced.add(
                announcement.file.path, in: session, isSealed: isSealed, wall: clock.wallMilliseconds)
            if isNew { keep(session, state) }
            for other in others { keep(other, state) }
        }
        proceed()
    }

    private func proceed() {
        let (next, start, relay) = state.withLock { state in
            let next = state.queue.next(at: clock.now)
            setAlarm(state)
            // Take the token together with the announcement: both must be of one installation.
            return (next, state.looks.start, loose.address)
        }
        guard let next else { return }
        loose.announce(next, to: relay) { [weak self] outcome in self?.answered(outcome, start) }
    }

    private func answered(_ outcome: FileAnnouncements.Outcome, _ start: Int) {
        let news: RelayErrorCode? = state.withLock { state in
            guard state.looks.isCurrent(start) else { return nil }
            state.queue.answered(outcome, at: clock.now)
            guard case .refused(let code) = outcome, state.told.count < 30, state.told.insert(code).inserted else {
                return nil
            }
            return code
        }
        if let news {
            note("the relay refuses files that are offered to the phone (\(news)); they cannot be opened there")
        }
        proceed()
    }

    private func setAlarm(_ state: State) {
        parts.alarm.set(state.queue.nextDeadline) { [weak self] in self?.proceed() }
    }

    // MARK: In the journal

    private static let inTheOpen: UInt8 = 2
    private static let sealed: UInt8 = 3

    private func keep(_ session: SessionID, _ state: State) {
        let kept = state.announced.record(of: session).flatMap { stored($0) }
        journal.submit([.setting(name: Self.setting + session.text, value: kept)], .written, done: nil)
    }

    /// Nil if this connection seals nothing by now.
    private func stored(_ record: AnnouncedFiles.Record) -> [UInt8]? {
        guard record.isSealed else { return [Self.inTheOpen] + record.text }
        guard let keys else { return nil }
        return [Self.sealed] + keys.turnSealer.seal(record: record.text)
    }

    /// With `isElsewhere` the records are of another installation, and are deleted.
    func restore(_ settings: [String: [UInt8]], isElsewhere: Bool) {
        let kept = settings.filter { $0.key.hasPrefix(Self.setting) }
        if isElsewhere {
            let entries = kept.keys.sorted().map { JournalEntry.setting(name: $0, value: nil) }
            if !entries.isEmpty { journal.submit(entries, .written, done: nil) }
            return
        }
        var records: [SessionID: AnnouncedFiles.Record] = [:]
        for (name, value) in kept {
            guard let form = value.first, [Self.inTheOpen, Self.sealed].contains(form) else { continue }
            let stored = Array(value.dropFirst())
            guard let text = form == Self.sealed ? try? keys?.turnSealer.open(record: stored) : stored else { continue }
            records[SessionID(String(name.dropFirst(Self.setting.count)))] = AnnouncedFiles.Record(
                text: text, isSealed: form == Self.sealed)
        }
        state.withLock { $0.announced.restore(records) }
    }

    /// Forgets the files of a chat that has ended.
    func forget(_ session: SessionID) {
        state.withLock { state in
            state.looks.forget(session)
            state.queue.forget(session)
            setAlarm(state)
            if state.announced.forget(session) { keep(session, state) }
        }
    }

    /// Forgets all files: phones of another installation were offered none of them.
    func forgetAll() {
        state.withLock { state in
            state.looks.forgetAll()
            state.queue = FileAnnouncements()
            setAlarm(state)
            for session in state.announced.forgetAll() { keep(session, state) }
        }
    }

    // MARK: Reading

    func read(_ request: FileRequest, reply: @escaping @Sendable (FileReply) -> Void) {
        do throws(FileRefusal) {
            switch request {
            case .open(let path, let vouched):
                guard keys?.encryption != .require, isAnnounced(path, in: nil),
                    path == vouched || isAnnounced(vouched, in: nil)
                else { throw .forbidden }
                parts.files.read(path == vouched ? [path] : [path, vouched], atMost: Self.sizeLimit) { result in
                    reply(FileReply(result))
                }
            case .sealed(let session, let index, let sealedPath):
                let (sealer, path) = try opened(sealedPath, index, in: session)
                guard isAnnounced(path, in: session) else { throw .forbidden }
                parts.files.read([path], atMost: Self.sizeLimit) { [keys] result in
                    reply(FileReply(result) { keys?.seal($0, index, by: sealer) })
                }
            case .malformed: throw .invalidRequest
            }
        } catch {
            reply(.refused(error))
        }
    }

    private func isAnnounced(_ path: String, in session: SessionID?) -> Bool {
        state.withLock { $0.announced.holds(path, in: session) }
    }

    private func opened(_ sealedPath: String, _ index: BlindIndex, in session: SessionID) throws(FileRefusal)
        -> (SessionSealer, String)
    {
        guard let sealer = keys?.sealer(of: session) else { throw .noSessionKey }
        guard let path = try? sealer.text(of: sealedPath, .agentFile(index)) else { throw .cryptoFailed }
        guard sealer.blindIndex(ofFile: path) == index else { throw .forbidden }
        return (sealer, path)
    }
}
