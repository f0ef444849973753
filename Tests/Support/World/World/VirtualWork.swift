package import AgentKit
package import Vocabulary

/// The works of machines in a world, on files and secrets that outlive a process and on answers of a far side.
/// Results come a moment later, while the process lives.
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
    /// Runs a command line.
    package var run: (([String]) -> WorkResult)?
    /// Output of programs, by path.
    package var log: ((String) -> [UInt8]?)?
    package var paths: (() -> [String])?
    /// Programs that outlive the bridge: whether one runs, and how to end it.
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
        // One bridge with one agent never contends for the lock.
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

    /// Matches one `*` in a component of a path.
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

/// A runner for worlds whose agent starts no programs.
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
