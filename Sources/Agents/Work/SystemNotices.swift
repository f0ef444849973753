import Children
import Glibc
import Locking
import OSThreads
import Transport
package import Vocabulary

/// Notices on the real outside: a program, or a webhook on a client of its own, so no recipient takes connections from the relay.
///
/// - Each try ends in bounded time: a program with its whole group, a call with its connection.
/// - A program's output is not read; of a webhook's answer only the status and `Retry-After` count. Redirects are not followed.
/// - Failures are fixed words and codes, without any part of the address, the token or an answer.
package final class SystemNotices: NoticePort {
    package struct Limits: Sendable {
        package var command = Duration.seconds(30)
        package var call = Duration.seconds(10)

        package init() {}
    }

    private struct State {
        var client: CurlClient?
        var isClosed = false
    }

    private let children: any ChildRunner
    private let limits: Limits
    private let state = Locked(State())

    package init(children: any ChildRunner, limits: Limits = Limits()) {
        self.children = children
        self.limits = limits
    }

    package func tell(
        _ body: [UInt8], to recipient: NoticeRecipient, completion: @escaping @Sendable (NoticeAnswer) -> Void
    ) {
        switch recipient {
        case .webhook(let address, let token): post(body, address, token, completion)
        case .command(let words, let withheld):
            let run = NoticeRun(words, withheld: withheld, input: body + [UInt8(ascii: "\n")], limit: limits.command)
            let isStarted = startThread { [children] in completion(run.answer(of: children)) }
            if !isStarted {
                completion(.failed(reason: "the system has no thread left; raise `ulimit -u` or TasksMax="))
            }
        }
    }

    package func close() {
        let client = state.withLock { state in
            state.isClosed = true
            return state.client
        }
        client?.close()
    }

    // MARK: Webhooks

    private func post(
        _ body: [UInt8], _ address: NoticeAddress, _ token: Secret?,
        _ completion: @escaping @Sendable (NoticeAnswer) -> Void
    ) {
        let client: CurlClient? = state.withLock { state in
            guard !state.isClosed else { return nil }
            if let client = state.client { return client }
            var settings = CurlClient.Settings()
            settings.maximumConnections = 4
            let client = CurlClient(settings: settings)
            state.client = client
            return client
        }
        guard let client else { return completion(.failed(reason: "the bridge ends")) }
        var headers = [HTTPHeader("Content-Type", "application/json")]
        if let token { headers.append(HTTPHeader("Authorization", "Bearer \(token.text)")) }
        let request = HTTPRequest(
            method: "POST", url: address.whole, headers: headers, body: body, timeout: limits.call)
        client.send(request) { completion(NoticeAnswer($0)) }
    }
}

extension NoticeAnswer {
    init(_ result: Result<HTTPResponse, HTTPFailure>) {
        switch result {
        case .failure(let failure): self = .failed(reason: failure.message)
        case .success(let response) where (200..<300).contains(response.status): self = .told
        case .success(let response):
            // Seconds alone: a date would need a clock that is right.
            let seconds = response.header("Retry-After").flatMap { Int64($0) }
            self = .failed(
                reason: "the webhook answered \(response.status)",
                retryAfter: seconds.map { .seconds(min(max($0, 0), 86_400)) })
        }
    }
}

/// Runs a program with one notice as its input. Blocks until its end.
private final class NoticeRun: Sendable {
    private let plan: ChildPlan
    private let input: [UInt8]
    private let limit: Duration
    private let end = Locked<ChildEvent?>(nil)
    private let wakeUp = WakeUp()

    init(_ words: [String], withheld: [String], input: [UInt8], limit: Duration) {
        plan = ChildPlan(
            arguments: words, environment: ChildEnvironment(dropping: withheld), folder: "/",
            life: .withBridge(grace: .seconds(2)), pipes: .input)
        self.input = input
        self.limit = limit
    }

    func answer(of children: any ChildRunner) -> NoticeAnswer {
        guard wakeUp.descriptor >= 0 else {
            return .failed(reason: "too many files are open; raise the limit (`ulimit -n`, LimitNOFILE=)")
        }
        let link = children.start(plan) { [self] event in
            switch event {
            case .failed, .exited:
                end.withLock { $0 = event }
                wakeUp.raise()
            case .spawned, .line, .skipped, .complained, .written: break
            }
        }
        link.send(input)
        link.closeInput()
        let deadline = Deadline(after: limit)
        var isLate = false
        while true {
            if let event = end.withLock({ $0 }) { return answer(event, isLate: isLate) }
            if deadline.hasPassed, !isLate {
                isLate = true
                link.end(atOnce: true)
            }
            var polled = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&polled, 1, isLate ? -1 : deadline.millisecondsLeft)
            wakeUp.clear()
        }
    }

    private func answer(_ event: ChildEvent, isLate: Bool) -> NoticeAnswer {
        switch event {
        case .exited(.exited(0), _): .told
        case .exited where isLate: .failed(reason: "the program took too long, and was ended")
        case .exited(.exited(let code), _): .failed(reason: "the program ended with \(code)")
        case .exited(.signalled(let signal), _): .failed(reason: "the program was ended by signal \(signal)")
        case .failed(let failure): .failed(reason: Self.words(failure.code))
        default: .failed(reason: "the program has no end")
        }
    }

    /// Words without the program's path and arguments, which may hold a secret.
    private static func words(_ code: ChildFailure.Code) -> String {
        switch code {
        case .notFound: "the program was not found; see: sophon-bridge doctor"
        case .notExecutable: "the program may not be run; see: sophon-bridge doctor"
        case .noFolder, .badPlan, .calledOff, .other: "the program could not be started; see: sophon-bridge doctor"
        case .noDescriptor: "no file descriptor is left; raise the limit (`ulimit -n`, LimitNOFILE=)"
        case .noProcess: "the system has no process left; raise `ulimit -u` or TasksMax="
        }
    }
}
