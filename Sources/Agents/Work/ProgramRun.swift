import AgentKit
import Glibc
import Locking
import OSThreads
import Vocabulary

/// Runs a program to its end, and collects its output. Blocks until then, or until its deadline.
final class ProgramRun: Sendable {
    fileprivate struct State {
        var output: [UInt8] = []
        var result: WorkResult?
        var isTooLong = false
        var isLate = false
    }

    private let plan: ChildPlan
    private let input: [UInt8]
    private let outputLimit: Int
    private let deadline: Duration
    private let state = Locked(State())
    private let wakeUp = WakeUp()

    init(_ plan: ChildPlan, input: [UInt8], outputLimit: Int, deadline: Duration) {
        var plan = plan
        plan.pipes = .lines(limit: outputLimit)
        self.plan = plan
        self.input = input
        self.outputLimit = outputLimit
        self.deadline = deadline
    }

    func result(of children: any ChildRunner) -> WorkResult {
        guard wakeUp.descriptor >= 0 else {
            return .failed(WorkFailure(.full, "too many files are open; raise the limit (`ulimit -n`, LimitNOFILE=)"))
        }
        let link = children.start(plan) { [self] in take($0) }
        if !input.isEmpty { link.send(input) }
        link.closeInput()
        let end = Deadline(after: deadline)
        while true {
            let (result, mustEnd) = state.withLock { ($0.result, $0.isTooLong) }
            if let result { return result }
            if mustEnd || end.hasPassed {
                state.withLock { $0.isLate = !$0.isTooLong }
                link.end(atOnce: true)
            }
            var polled = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&polled, 1, end.hasPassed || mustEnd ? -1 : end.millisecondsLeft)
            wakeUp.clear()
        }
    }

    private func take(_ event: ChildEvent) {
        state.withLock { state in
            switch event {
            case .line(let line):
                if state.output.count + line.count >= outputLimit {
                    state.isTooLong = true
                } else {
                    state.output += line + [UInt8(ascii: "\n")]
                }
            case .skipped: state.isTooLong = true
            case .failed(let failure):
                let isAbsent = failure.code == .notFound || failure.code == .noFolder
                state.result = .failed(WorkFailure(isAbsent ? .absent : .other, failure.message))
            case .exited(let end, let lastWords): state.result = state.ended(end, lastWords, plan.arguments[0])
            case .spawned, .complained, .written: break
            }
        }
        wakeUp.raise()
    }
}

extension ProgramRun.State {
    fileprivate func ended(_ end: ProcessEnd, _ lastWords: String, _ program: String) -> WorkResult {
        if isTooLong { return .failed(WorkFailure(.tooLarge, "\(program) writes too much", mayHaveLanded: true)) }
        if isLate { return .failed(WorkFailure(.timedOut, "\(program) takes too long", mayHaveLanded: true)) }
        return .ran(end, output: output, errors: lastWords)
    }
}
