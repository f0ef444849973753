import CPosix
import Glibc
import OSThreads
import Vocabulary

/// The loop of one child's thread: takes orders, writes, reads, delivers events, polls.
///
/// - The end is reported once the child has exited and its output is drained. A grandchild that keeps the pipes open
///   delays nothing: by then the pipe holds all that the child itself wrote, and a pipe's capacity bounds the read.
/// - The child is reaped last, so that no other process can have its id or group id while signals are sent.
final class ChildLoop {
    private static let bufferSize = 65_536
    /// Reads in a row before orders and writes take their turn.
    private static let readsInARow = 16
    /// Largest capacity of a pipe without privileges (`fs.pipe-max-size`).
    private static let pipeCapacity = 1 << 20

    private enum Stage {
        /// Can transition to: `released` by the host, or the end.
        case atGate
        /// The kernel loads the program. Can transition to: `running`, `failed`.
        case released
        case running
        /// The exit of the child is awaited.
        case failed(ChildFailure)
    }

    private let child: LaunchedChild
    private let control: ChildControl
    private let handler: @Sendable (ChildEvent) -> Void
    private var streams: BridgeStreams
    private var stage = Stage.atGate
    private var steps: EndingSteps
    private var outgoing = OutgoingInput()
    private var output: ChildOutput
    private var errors = ErrorOutput()
    private var buffer = [UInt8](repeating: 0, count: bufferSize)

    /// `streams` has no other owner, so that closing the bridge's end closes the child's input.
    init(
        _ child: LaunchedChild, _ streams: consuming BridgeStreams, control: ChildControl,
        handler: @escaping @Sendable (ChildEvent) -> Void
    ) {
        self.child = child
        self.control = control
        self.handler = handler
        self.streams = streams
        steps = EndingSteps(child.plan.life, child.plan.pipes)
        output =
            if case .lines(let limit) = child.plan.pipes { ChildOutput(limit: limit) } else { ChildOutput(limit: 0) }
    }

    /// Returns the last event, for the caller to deliver.
    func run() -> ChildEvent {
        sb_ignore_broken_pipes_here()
        while true {
            let hasExited = obey()
            advance()
            lookAtReport()
            write()
            readErrors()
            readOutput()
            if hasExited, let last = lastEvent() { return last }
            wait(hasExited: hasExited)
        }
    }

    // MARK: - Orders

    /// Takes the orders. Returns whether the child has exited.
    private func obey() -> Bool {
        let (orders, hasExited) = control.take()
        outgoing.take(orders.messages, closing: orders.closesInput)
        if let mayRun = orders.release, case .atGate = stage { open(mayRun) }
        switch orders.end {
        // A child at its gate runs no program yet that could end by itself.
        case .bySteps:
            if case .atGate = stage { steps.ask(atOnce: true, at: .now) } else { steps.ask(atOnce: false, at: .now) }
        case .atOnce: steps.ask(atOnce: true, at: .now)
        case nil: break
        }
        return hasExited
    }

    private func open(_ mayRun: Bool) {
        var go: UInt8 = mayRun ? 1 : 0
        if let gate = streams.gate { _ = Glibc.write(gate.number, &go, 1) }
        streams.gate = nil
        stage = .released
    }

    private func advance() {
        while let step = steps.next(at: .now) {
            switch step {
            case .closeInput: outgoing.take([], closing: true)
            case .terminate: kill(-child.name.id, SIGTERM)
            case .kill: kill(-child.name.id, SIGKILL)
            }
        }
    }

    /// The report pipe closes on exec: an end without a fault means that the program runs.
    private func lookAtReport() {
        guard case .released = stage else { return }
        var fault = sb_child_fault()
        let count = withUnsafeMutableBytes(of: &fault) { read(streams.report.number, $0.baseAddress, $0.count) }
        if count == MemoryLayout<sb_child_fault>.size {
            stage = .failed(failure(fault))
        } else if count == 0 {
            stage = .running
            handler(.spawned(child.name))
        }
    }

    private func failure(_ fault: sb_child_fault) -> ChildFailure {
        if fault.stage == 1 { return Self.calledOff }
        return ProgramSearch.failure(
            of: child.path, folder: child.plan.folder, stage: fault.stage, error: fault.error)
    }

    private static let calledOff = ChildFailure(.calledOff, "the start of the child was called off")

    // MARK: - Pipes

    private func write() {
        guard case .running = stage, let input = streams.input else { return }
        switch outgoing.write(to: input.number, control) {
        case .open: break
        case .done: streams.input = nil
        case .deaf:
            control.becameDeaf()
            streams.input = nil
        }
        for token in outgoing.takeWritten() { handler(.written(token)) }
    }

    private func readErrors() {
        guard let pipe = streams.errors else { return }
        for _ in 0..<Self.readsInARow {
            switch fill(from: pipe) {
            case .bytes(let count):
                buffer.withUnsafeBytes { errors.take(UnsafeRawBufferPointer(rebasing: $0[..<count]), handler) }
            case .blocked: return
            case .ended:
                streams.errors = nil
                return
            }
        }
    }

    private func readOutput() {
        for _ in 0..<Self.readsInARow {
            guard tellOutput(), let pipe = streams.output else { return }
            switch fill(from: pipe) {
            case .bytes(let count):
                buffer.withUnsafeBytes { output.take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            case .blocked: return
            case .ended: streams.output = nil
            }
        }
    }

    /// False if reading is paused, or the program does not run yet.
    private func tellOutput() -> Bool {
        guard case .running = stage else { return false }
        while control.mayRead {
            guard let event = output.next() else { return true }
            handler(event)
        }
        return false
    }

    private enum Filling { case bytes(Int), blocked, ended }

    private func fill(from pipe: Descriptor) -> Filling {
        while true {
            let count = read(pipe.number, &buffer, buffer.count)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .blocked : .ended
        }
    }

    // MARK: - The end

    /// Nil while the report or a paused reader is outstanding.
    private func lastEvent() -> ChildEvent? {
        switch stage {
        case .atGate: return reaped { _ in .failed(Self.calledOff) }
        case .released: return nil
        case .failed(let failure): return reaped { _ in .failed(failure) }
        case .running: break
        }
        if case .withBridge = child.plan.life { kill(-child.name.id, SIGKILL) }
        guard drainOutput() else { return nil }
        drainErrors()
        return reaped { .exited($0, lastWords: errors.lastWords) }
    }

    /// False if reading is paused.
    private func drainOutput() -> Bool {
        while let pipe = streams.output, output.lateBytes < Self.pipeCapacity {
            guard tellOutput() else { return false }
            switch fill(from: pipe) {
            case .bytes(let count):
                output.lateBytes += count
                buffer.withUnsafeBytes { output.take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            case .blocked, .ended: streams.output = nil
            }
        }
        streams.output = nil
        output.end()
        return tellOutput()
    }

    private func drainErrors() {
        var late = 0
        while let pipe = streams.errors, late < Self.pipeCapacity, case .bytes(let count) = fill(from: pipe) {
            late += count
            buffer.withUnsafeBytes { errors.take(UnsafeRawBufferPointer(rebasing: $0[..<count]), handler) }
        }
        errors.end(handler)
    }

    private func reaped(_ event: (ProcessEnd) -> ChildEvent) -> ChildEvent {
        var value: Int32 = 0
        let hasCode = sb_child_reap(child.name.id, &value) != 0
        return event(hasCode ? .exited(value) : .signalled(value))
    }

    // MARK: - Waiting

    private func wait(hasExited: Bool) {
        let isRunning = if case .running = stage { true } else { false }
        let isReleased = if case .released = stage { true } else { false }
        if isRunning, output.hasMore, control.mayRead { return }
        let reads = isRunning && control.mayRead && !hasExited
        var polled = [
            pollfd(fd: control.wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: isReleased ? streams.report.number : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: reads ? streams.output?.number ?? -1 : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: hasExited ? -1 : streams.errors?.number ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(
                fd: isRunning && outgoing.isWaiting ? streams.input?.number ?? -1 : -1, events: Int16(POLLOUT),
                revents: 0),
        ]
        guard poll(&polled, nfds_t(polled.count), steps.deadline?.millisecondsLeft ?? -1) > 0 else { return }
        if polled[0].revents != 0 { control.wakeUp.clear() }
    }
}
