package import BridgeModel

package struct LoadedFile: Hashable, Sendable {
    package var file: MessageFile
    package var bytes: [UInt8]

    package init(_ file: MessageFile, _ bytes: [UInt8]) {
        self.file = file
        self.bytes = bytes
    }
}

/// Files of messages on their way from the bridge's disk into a frame, those of one message one after another.
///
/// - A message whose files are being read is not read a second time.
/// - Each that was begun ends once, with what could be read.
package struct FileLoads: Sendable {
    package struct Loaded: Hashable, Sendable {
        package var run: RunID
        package var files: [LoadedFile] = []
        package var missing: [MissingFile] = []

        package init(run: RunID, missing: [MissingFile] = []) {
            self.run = run
            self.missing = missing
        }
    }

    package enum Step {
        /// It is no work of these.
        case foreign
        case more([AgentOrder])
        case loaded(Loaded)
    }

    private struct Load {
        var waiting: ArraySlice<MessageFile>
        var loaded: Loaded
    }

    private var loads: [RunID: Load] = [:]
    private var works: [WorkID: RunID] = [:]
    /// Far from the numbers that a machine gives its own works.
    private var lastNumber = 1 << 40

    package init() {}

    package mutating func begin(_ run: RunID, _ files: [MessageFile]) -> [AgentOrder] {
        guard loads[run] == nil, !files.isEmpty else { return [] }
        loads[run] = Load(waiting: files[...], loaded: Loaded(run: run))
        return next(of: run)
    }

    private mutating func next(of run: RunID) -> [AgentOrder] {
        guard let file = loads[run]?.waiting.first else { return [] }
        lastNumber += 1
        works[WorkID(lastNumber)] = run
        return [.work(WorkID(lastNumber), .read(path: file.path, from: 0, limit: file.size))]
    }

    package mutating func finished(_ work: WorkID, _ result: WorkResult) -> Step {
        guard let run = works.removeValue(forKey: work), var load = loads[run], let file = load.waiting.popFirst()
        else {
            return .foreign
        }
        if case .read(let bytes, let size) = result, bytes.count == file.size, size == Int64(file.size) {
            load.loaded.files.append(LoadedFile(file, bytes))
        } else {
            load.loaded.missing.append(.notPassedOn(file.name, "the bridge could not read it from its disk"))
        }
        loads[run] = load.waiting.isEmpty ? nil : load
        return load.waiting.isEmpty ? .loaded(load.loaded) : .more(next(of: run))
    }
}
