package import AgentKit
import Children
import Files
import Locking
import OSThreads
import Transport
package import Vocabulary

/// Carries out the works of machines: HTTP on one client for each trust, and blocking work on threads of its own. The host bounds
/// how many are under way; no order holds between two works.
package final class SystemWork: WorkPort {
    private let children: any ChildRunner
    private let files: WorkFiles
    private let clients = Locked<[Trust: CurlClient]>([:])

    /// `secretsFolder` is nil without a place for secrets. `writableFolders`: folders that `write` may change, with all below.
    package init(children: any ChildRunner, secretsFolder: String?, writableFolders: [String]) {
        self.children = children
        files = WorkFiles(secretsFolder: secretsFolder, writableFolders: writableFolders)
    }

    deinit { for client in clients.withLock({ $0.values.map(\.self) }) { client.close() } }

    package func carryOut(_ work: Work, completion: @escaping @Sendable (WorkResult) -> Void) {
        switch work {
        case .http(let request, let trust):
            client(trust).send(request) { completion(WorkResult($0)) }
        case .run(let plan, let input, let outputLimit, let deadline):
            let run = ProgramRun(plan, input: input, outputLimit: outputLimit, deadline: deadline)
            onThread(completion) { [children] in run.result(of: children) }
        case .look(let names): onThread(completion) { .alive(ProcessTable.living(names)) }
        case .end(let process, let grace):
            if !ProcessTable.end(process, grace: grace, then: { completion(.done) }) { completion(Self.noThread) }
        case .read, .write, .lock, .unlock, .find, .secret, .keepSecret:
            onThread(completion) { [files] in files.result(of: work) }
        case .keep: completion(.failed(WorkFailure(.forbidden, "facts are kept by the host")))
        case .complaints: completion(.failed(WorkFailure(.forbidden, "complaints are covered by the host")))
        }
    }

    private static var noThread: WorkResult {
        .failed(
            WorkFailure(.full, "the system has no thread left; raise the limit of processes (`ulimit -u`, TasksMax=)"))
    }

    private func onThread(
        _ completion: @escaping @Sendable (WorkResult) -> Void, _ body: @escaping @Sendable () -> WorkResult
    ) {
        if !startThread({ completion(body()) }) { completion(Self.noThread) }
    }

    private func client(_ trust: Trust) -> CurlClient {
        clients.withLock { clients in
            if let client = clients[trust] { return client }
            var settings = CurlClient.Settings()
            switch trust.certificates {
            case .system: break
            case .authority(let file): settings.authorityFile = file
            case .leaf(let digest): settings.leafPin = digest
            }
            settings.listener = trust.listener
            let client = CurlClient(settings: settings)
            clients[trust] = client
            return client
        }
    }
}

extension WorkResult {
    init(_ result: Result<HTTPResponse, HTTPFailure>) {
        switch result {
        case .success(let response): self = .answered(response)
        case .failure(let failure):
            let code: WorkFailure.Code =
                switch failure.code {
                case .nameNotFound, .connectionRefused, .connectionLost: .unreachable
                case .tlsFailed: .untrusted
                case .foreignListener: .foreignListener
                case .timedOut: .timedOut
                case .tooLarge: .tooLarge
                case .badURL, .cancelled, .other: .other
                }
            self = .failed(WorkFailure(code, failure.message, mayHaveLanded: failure.mayHaveBeenApplied))
        }
    }
}
