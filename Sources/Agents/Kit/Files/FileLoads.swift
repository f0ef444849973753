package import Vocabulary

package struct LoadedFile: Hashable, Sendable {
    package var file: MessageFile
    package var bytes: [UInt8]

    package init(_ file: MessageFile, _ bytes: [UInt8]) {
        self.file = file
        self.bytes = bytes
    }
}

/// Files of messages on their way from the bridge's disk into a frame, one after the other for each message.
///
/// - A message whose files are being read is not read a second time.
/// - Each begun message ends once: with all its files, with the first unreadable one, or by `drop`, after which nothing of it is
///   reported.
/// - A read that failed is retried, unless the file is gone.
package struct FileLoads: Sendable {
    package struct Loaded: Hashable, Sendable {
        package var run: RunID
        package var files: [LoadedFile] = []
        /// Files left out, for whatever reason.
        package var missing: [MissingFile] = []

        package init(run: RunID, missing: [MissingFile] = []) {
            self.run = run
            self.missing = missing
        }
    }

    package enum Step {
        /// The work belongs to another part of the machine.
        case foreign
        case more([AgentOrder])
        case loaded(Loaded)
        /// The message cannot go whole. The sentence is for the person.
        case unreadable(RunID, sentence: String)
    }

    private struct Load {
        var waiting: ArraySlice<MessageFile>
        var loaded: Loaded
        var work: WorkID?
        var failures = 0
        var retryAt: Instant?
    }

    private static let tries = 5
    private static let pause = Duration.seconds(2)

    private var loads: [RunID: Load] = [:]
    private var works: [WorkID: RunID] = [:]
    /// Start of the work ids, far from the machine's own.
    private var lastNumber = 1 << 40

    package init() {}

    package var nextDeadline: Instant? { loads.values.lazy.compactMap(\.retryAt).min() }

    package mutating func begin(_ run: RunID, _ files: [MessageFile]) -> [AgentOrder] {
        guard loads[run] == nil, !files.isEmpty else { return [] }
        loads[run] = Load(waiting: files[...], loaded: Loaded(run: run))
        return next(of: run)
    }

    /// Drops the files of a message that will not be sent.
    package mutating func drop(_ run: RunID) { loads[run] = nil }

    private mutating func next(of run: RunID) -> [AgentOrder] {
        guard let file = loads[run]?.waiting.first else { return [] }
        lastNumber += 1
        works[WorkID(lastNumber)] = run
        loads[run]?.work = WorkID(lastNumber)
        loads[run]?.retryAt = nil
        return [.work(WorkID(lastNumber), .read(path: file.path, from: 0, limit: file.size))]
    }

    package mutating func finished(_ work: WorkID, _ result: WorkResult, at now: Instant) -> Step {
        guard let run = works.removeValue(forKey: work) else { return .foreign }
        guard var load = loads[run], load.work == work, let file = load.waiting.first else { return .more([]) }
        if case .read(let bytes, let size) = result, bytes.count == file.size, size == Int64(file.size) {
            load.waiting.removeFirst()
            load.loaded.files.append(LoadedFile(file, bytes))
            load.failures = 0
            loads[run] = load.waiting.isEmpty ? nil : load
            return load.waiting.isEmpty ? .loaded(load.loaded) : .more(next(of: run))
        }
        load.failures += 1
        if case .failed(let failure) = result, failure.code != .absent, load.failures < Self.tries {
            load.retryAt = now + Self.pause
            loads[run] = load
            return .more([])
        }
        loads[run] = nil
        let sentence =
            "The bridge could not read \(file.name) from its disk, so the agent did not get this message. Please send it again."
        return .unreadable(run, sentence: sentence)
    }

    package mutating func timePassed(at now: Instant) -> [AgentOrder] {
        let due = loads.filter { $0.value.retryAt.map { $0 <= now } == true }.keys.sorted()
        return due.flatMap { next(of: $0) }
    }
}
