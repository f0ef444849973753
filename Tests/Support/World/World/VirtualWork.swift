package import AgentKit
package import Vocabulary

/// What the work of machines touches in the world: files and secrets that outlive a process, and what a far side answers.
/// Answers come after a moment, while their process lives.
final class VirtualWork: WorkPort, @unchecked Sendable {
    private let store: VirtualFiles
    private let time: VirtualTime
    private let isAlive: () -> Bool

    init(_ store: VirtualFiles, _ time: VirtualTime, isAlive: @escaping () -> Bool) {
        self.store = store
        self.time = time
        self.isAlive = isAlive
    }

    func carryOut(_ work: Work, completion: @escaping @Sendable (WorkResult) -> Void) {
        time.after(.milliseconds(1)) { [self] in
            guard isAlive() else { return }
            let result = store.result(of: work)
            time.after(.milliseconds(1)) { [self] in if isAlive() { completion(result) } }
        }
    }
}

/// The computer of one side, as works see it.
package final class VirtualFiles: @unchecked Sendable {
    package var files: [String: [UInt8]] = [:]
    package var secrets: [String: Secret] = [:]
    package var http: ((HTTPRequest) -> WorkResult)?
    /// By the command line.
    package var run: (([String]) -> WorkResult)?
    /// What programs have written, by its path.
    package var log: ((String) -> [UInt8]?)?
    package var paths: (() -> [String])?
    /// Programs that outlive the bridge: whether one runs, and its end.
    package var runs: ((ProcessName) -> Bool)?
    package var ends: ((ProcessName) -> Void)?

    func result(of work: Work) -> WorkResult {
        let absent = WorkResult.failed(WorkFailure(.absent, "there is no such thing here"))
        switch work {
        case .http(let request, _): return http?(request) ?? .failed(WorkFailure(.unreachable, "no answer"))
        case .read(let path, let from, let limit):
            guard let file = files[path] ?? log?(path) else { return absent }
            return .read(Array(file.dropFirst(Int(from)).prefix(limit)), size: Int64(file.count))
        case .write(let path, let bytes):
            files[path] = bytes
            return .done
        // One bridge, which has one agent.
        case .lock, .unlock: return .done
        case .find(let pattern, let limit):
            let all = files.keys + (paths?() ?? [])
            return .found(Array(all.filter { Self.matches($0, pattern) }.sorted().prefix(limit)))
        case .look(let processes): return .alive(processes.filter { runs?($0) ?? false })
        case .end(let process, _):
            ends?(process)
            return .done
        case .secret(let name): return .secret(secrets[name])
        case .keepSecret(let name, let secret):
            secrets[name] = secret
            return .done
        case .run(let plan, _, _, _): return run?(plan.arguments) ?? absent
        case .keep, .complaints: return absent
        }
    }

    /// One `*` in a component of a path.
    private static func matches(_ path: String, _ pattern: String) -> Bool {
        let (names, patterns) = (path.split(separator: "/"), pattern.split(separator: "/"))
        guard names.count == patterns.count else { return false }
        return zip(names, patterns).allSatisfy { name, pattern in
            let parts = pattern.split(separator: "*", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return name == pattern }
            return name.count >= pattern.count - 1 && name.hasPrefix(parts[0]) && name.hasSuffix(parts[1])
        }
    }
}

/// Of a world whose agent has none.
struct NoChildren: ChildRunner {
    private final class Link: ChildLink {
        func send(_ bytes: [UInt8], telling: Int?) -> Bool { false }
        func closeInput() {}
        func end(atOnce: Bool) {}
        func pauseReading() {}
        func resumeReading() {}
    }

    func start(
        _ plan: ChildPlan, record: (@Sendable (ProcessName, @escaping @Sendable (Bool) -> Void) -> Void)?,
        handler: @escaping @Sendable (ChildEvent) -> Void
    ) -> any ChildLink {
        handler(.failed(ChildFailure(.notFound, "there are no programs here")))
        return Link()
    }
}
