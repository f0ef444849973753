package import BridgeModel
import Locking
import RelayProtocol
import Sealing

/// Offers the files that the agent's tools touch, and reads those that the phone asks for
/// (relay.md#relay-to-bridge-rpcs-req_id-frames).
///
/// Nothing here is done on the thread of a socket: files are the port's, and what is sealed is sealed where the bytes arrive.
package final class FileViewer: Sendable {
    package struct Parts: Sendable {
        package var files: any AgentFilePort
        package var alarm: any Alarm

        package init(files: any AgentFilePort, alarm: any Alarm) {
            self.files = files
            self.alarm = alarm
        }
    }

    /// What the relay takes (relay.md#size-limits).
    static let sizeLimit = 1_572_864
    private static let setting = "files:"

    private struct State {
        var announced = AnnouncedFiles()
        var queue = FileAnnouncements()
    }

    private let parts: Parts
    private let loose: LooseCalls
    private let keys: LiveKeys?
    private let journal: any TurnJournal
    private let clock: any Clock
    private let state = Locked(State())

    init(_ parts: Parts, _ loose: LooseCalls, _ keys: LiveKeys?, journal: any TurnJournal, clock: any Clock) {
        self.parts = parts
        self.loose = loose
        self.keys = keys
        self.journal = journal
        self.clock = clock
    }

    func stop() { parts.alarm.stop() }

    // MARK: Announcing

    func touched(_ files: [ToolFile], in session: SessionID, _ sealing: TurnSealing) {
        for file in files {
            parts.files.look(at: file.path) { [weak self] result in
                guard case .success(let seen) = result else { return }
                self?.announce(FileAnnouncement(session: session, sealing: sealing, use: file.use, file: seen))
            }
        }
    }

    /// Kept first, so that it can be read as soon as it is announced to the phone.
    private func announce(_ announcement: FileAnnouncement) {
        let isSealed = announcement.sealing != .open
        let session = announcement.session
        let (isNew, forgotten) = state.withLock { state in
            state.queue.add(announcement)
            return state.announced.add(announcement.file.path, in: session, isSealed: isSealed)
        }
        if isNew { keep(session) }
        if let forgotten { keep(forgotten) }
        proceed()
    }

    private func proceed() {
        let now = clock.now
        let (next, deadline) = state.withLock { state in
            let next = state.queue.next(at: now)
            return (next, state.queue.nextDeadline)
        }
        parts.alarm.set(deadline) { [weak self] in self?.proceed() }
        guard let next else { return }
        loose.announce(next) { [weak self] outcome in
            guard let self else { return }
            state.withLock { $0.queue.answered(outcome, at: clock.now) }
            proceed()
        }
    }

    // MARK: In the journal

    private func keep(_ session: SessionID) {
        let (record, isSealed) = state.withLock { ($0.announced.record(of: session), $0.announced.isSealed(session)) }
        let name = Self.setting + session.text
        let value: [UInt8]?? = record.map { isSealed ? keys?.turnSealer.seal(record: $0) : $0 }
        let kept = value.flatMap { $0.map { [isSealed ? 1 : 0] + $0 } }
        journal.submit([.setting(name: name, value: kept)], .written, done: nil)
    }

    func restore(_ settings: [String: [UInt8]]) {
        for (name, value) in settings.sorted(by: { $0.key < $1.key }) where name.hasPrefix(Self.setting) {
            let isSealed = value.first == 1
            let stored = Array(value.dropFirst())
            guard let record = isSealed ? try? keys?.turnSealer.open(record: stored) : stored else { continue }
            let session = SessionID(String(name.dropFirst(Self.setting.count)))
            state.withLock { $0.announced.restore(record, of: session, isSealed: isSealed) }
        }
    }

    func forget(_ session: SessionID) {
        guard state.withLock({ $0.announced.forget(session) }) else { return }
        keep(session)
    }

    // MARK: Reading

    func read(_ request: FileRequest, reply: @escaping @Sendable (FileReply) -> Void) {
        do throws(FileRefusal) {
            switch request {
            case .open(let path, let vouched):
                guard isAnnounced(path, in: nil), path == vouched || isAnnounced(vouched, in: nil) else {
                    throw .forbidden
                }
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
