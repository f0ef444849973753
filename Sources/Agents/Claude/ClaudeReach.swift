import AgentKit
import ConversationEngine
import Vocabulary

/// Place of a chat's session. Until its first turn has begun, the disk may have nothing of it.
struct ClaudePlace: Hashable {
    private static let mark = "new:"

    let session: String
    let isUnwritten: Bool

    init(_ session: String, isUnwritten: Bool) {
        self.session = session
        self.isUnwritten = isUnwritten
    }

    init?(_ place: Place) {
        guard let native = place.native else { return nil }
        isUnwritten = native.hasPrefix(Self.mark)
        session = isUnwritten ? String(native.dropFirst(Self.mark.count)) : native
    }

    var kept: Place { Place(native: isUnwritten ? Self.mark + session : session) }

    func transcripts(in configFolder: String) -> String { "\(configFolder)/projects/*/\(session).jsonl" }

    /// `manual` is a later version's word for `default`.
    static func sameMode(_ one: String, _ other: String) -> Bool {
        func plain(_ mode: String) -> String { mode == "manual" ? "default" : mode }
        return plain(one) == plain(other)
    }
}

/// The way to a session that may have a process already: an orphan of an earlier bridge, or a person's terminal
/// (claude-code.md#holders). Two processes on one session would fork its file.
///
/// | state | leads to |
/// |---|---|
/// | `listing` the files of living processes | `reading` |
/// | `reading` them one by one | `looking` at a process that has the session · `looking` at orphans that no file names · `searching` |
/// | `looking` at processes | `resting`: one lives · the next file · `searching` |
/// | `ending` an orphan, behind a Stop or when it works on nothing but the background | `resting` |
/// | `resting` | `listing` |
/// | `searching` for the transcript | found, there or not |
///
/// Processes that no bridge started are never ended.
struct ClaudeReach {
    enum Outcome {
        case step(Step<Reached>)
        case found(isThere: Bool)
    }

    private enum State {
        case listing
        case reading
        case looking(ClaudeHolder?)
        case ending, resting, searching
    }

    private static let holderLimit = 1_000
    private static let holderBytes = 64 << 10
    /// Pause between two looks at a process that has the session.
    private static let patience = Duration.seconds(1)
    private static let grace = Duration.seconds(5)
    private static let tries = 5

    private var state = State.listing
    private var left: [String] = []
    /// Processes that a file names.
    private var named: Set<Int32> = []
    private var looked = false
    private var failures = 0

    /// A failed look at the disk is retried a few times.
    mutating func mayTryAgain() -> Bool {
        failures += 1
        return failures < Self.tries
    }

    mutating func next(
        _ heard: Heard, _ place: ClaudePlace, _ here: Here, in configFolder: String
    ) -> Outcome {
        switch (state, heard) {
        case (_, .begin), (.resting, _), (_, .timeIsOver):
            (state, left, named, looked) = (.listing, [], [], false)
            return .step(.work(.find(pattern: "\(configFolder)/sessions/*.json", limit: Self.holderLimit)))
        case (.listing, .result(.found(let files))):
            left = files
            return nextFile(place, here, configFolder)
        case (.reading, .result(.read(let file, _))):
            guard let holder = ClaudeHolder(file) else { return nextFile(place, here, configFolder) }
            named.insert(Int32(holder.pid))
            guard holder.session == place.session, let process = holder.process(here.pastProcesses) else {
                return nextFile(place, here, configFolder)
            }
            state = .looking(holder)
            return .step(.work(.look(at: [process])))
        case (.looking(let holder), .result(.alive(let alive))):
            guard let process = alive.first else { return nextFile(place, here, configFolder) }
            return waits(for: process, holder, here)
        case (.ending, _): return rests()
        case (.searching, .result(.found(let files))): return .found(isThere: !files.isEmpty)
        case (.searching, .result(.failed(let failure))) where failure.code == .absent: return .found(isThere: false)
        case (.listing, .result(.failed(let failure))), (.reading, .result(.failed(let failure))):
            // The file has gone since it was listed, or never existed.
            if failure.code == .absent { return nextFile(place, here, configFolder) }
            return mayTryAgain() ? rests() : .step(.failed("its files cannot be read: \(failure)"))
        case (_, .result), (_, .answer): return mayTryAgain() ? rests() : .step(.failed("its files cannot be read"))
        }
    }

    private mutating func nextFile(_ place: ClaudePlace, _ here: Here, _ configFolder: String) -> Outcome {
        if let file = left.popLast() {
            state = .reading
            return .step(.work(.read(path: file, from: 0, limit: Self.holderBytes)))
        }
        // Early versions write no such files: their orphans may have any session.
        let unnamed = here.pastProcesses.filter { !named.contains($0.id) }
        if !looked, !unnamed.isEmpty {
            (state, looked) = (.looking(nil), true)
            return .step(.work(.look(at: unnamed)))
        }
        state = .searching
        return .step(.work(.find(pattern: place.transcripts(in: configFolder), limit: 1)))
    }

    private mutating func waits(for process: ProcessName, _ holder: ClaudeHolder?, _ here: Here) -> Outcome {
        let isOrphan = here.pastProcesses.contains(process)
        // An orphan that no file names may have another chat's session.
        let isOfThisChat = holder != nil || here.pastProcesses.count == 1
        if isOrphan, here.isStopping && isOfThisChat || holder?.isIdle == true {
            state = .ending
            return .step(.work(.end(process, grace: Self.grace)))
        }
        state = .resting
        let who =
            isOrphan
            ? "Claude Code still finishes what it did when the bridge went away"
            : "Another Claude Code process (\(process.id)) has this chat's session"
        return .step(.pause(Self.patience, showing: "\(who); the message waits for its end."))
    }

    private mutating func rests() -> Outcome {
        state = .resting
        return .step(.pause(Self.patience))
    }
}

extension ClaudeHolder {
    /// Process of the file. Nil if neither the file nor a bridge knows its start time: another process may have its number by now.
    fileprivate func process(_ past: [ProcessName]) -> ProcessName? {
        guard let ticks = startTicks, ticks >= 0 else { return past.first { $0.id == Int32(pid) } }
        return ProcessName(id: Int32(pid), startTicks: UInt64(ticks))
    }
}
