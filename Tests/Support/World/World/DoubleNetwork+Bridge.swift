import Vocabulary

// The bridge's side of a double's network: sockets and children.

final class DoubleSockets: WebSocketClient, @unchecked Sendable {
    private let network: DoubleNetwork
    private let isAlive: () -> Bool

    init(_ network: DoubleNetwork, _ isAlive: @escaping () -> Bool) {
        self.network = network
        self.isAlive = isAlive
    }

    func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink {
        let (network, isAlive) = (network, isAlive)
        let line = network.make([request.url], isAlive) {
            handler(.text($0))
        } hearEnd: { end in
            if case .cut = end, network.reportsLoss {
                return handler(.failed(WebSocketFailure(.connectionLost, "the connection was lost")))
            }
            let code: Int? = if case .orderly = end { 1000 } else { nil }
            handler(.closed(code: code, reason: "", byPeer: true))
        }
        let link = VirtualLink()
        link.onSend = { network.send($0, on: line) }
        link.onClose = { code in
            network.leave(line)
            network.time.after(.milliseconds(1)) {
                if isAlive(), line.takeEnd() { handler(.closed(code: code, reason: "", byPeer: false)) }
            }
        }
        network.time.after(.milliseconds(1)) {
            guard isAlive(), !link.isOver else { return }
            if network.refuses { return handler(.refused(status: 401, headers: [], body: [])) }
            if network.begin(line) { return handler(.opened([])) }
            handler(.failed(WebSocketFailure(.connectionRefused, "connection refused")))
        }
        return link
    }
}

final class DoublePrograms: ChildRunner, @unchecked Sendable {
    private let network: DoubleNetwork
    private let isAlive: () -> Bool

    init(_ network: DoubleNetwork, _ isAlive: @escaping () -> Bool) {
        self.network = network
        self.isAlive = isAlive
    }

    func start(
        _ plan: ChildPlan, record: (@Sendable (ProcessName, @escaping @Sendable (Bool) -> Void) -> Void)?,
        handler: @escaping @Sendable (ChildEvent) -> Void
    ) -> any ChildLink {
        let line = network.make(plan.arguments, isAlive) {
            handler(.line($0))
        } hearEnd: { end in
            switch end {
            case .orderly: handler(.exited(.exited(0), lastWords: ""))
            case .cut: handler(.exited(.signalled(9), lastWords: ""))
            case .failed(let words): handler(.exited(.exited(1), lastWords: words))
            }
        }
        line.outlives = plan.life == .outlives
        let name = line.process
        let child = DoubleChild(network, line, plan.life, handler)
        let network = network
        let release: @Sendable (Bool) -> Void = { mayRun in
            network.time.after(.milliseconds(1)) {
                guard line.isAlive() else { return }
                guard mayRun else { return handler(.failed(ChildFailure(.calledOff, "the start was called off"))) }
                if network.refuses {
                    handler(.spawned(name))
                    handler(.complained("No models available."))
                    return line.end(.failed(words: "No models available."))
                }
                guard network.begin(line) else {
                    return handler(.failed(ChildFailure(.notFound, "there is no such program")))
                }
                handler(.spawned(name))
                child.begins()
            }
        }
        if let record { record(name, release) } else { release(true) }
        return child
    }
}

private final class DoubleChild: ChildLink, @unchecked Sendable {
    private let network: DoubleNetwork
    private let line: DoubleLine
    private let life: ChildPlan.Life
    private let handler: @Sendable (ChildEvent) -> Void
    /// Messages before the program runs, or nil afterwards.
    private var queued: [(bytes: [UInt8], telling: Int?)]? = []
    private var hears = true

    init(
        _ network: DoubleNetwork, _ line: DoubleLine, _ life: ChildPlan.Life,
        _ handler: @escaping @Sendable (ChildEvent) -> Void
    ) {
        self.network = network
        self.line = line
        self.life = life
        self.handler = handler
    }

    func begins() {
        let messages = queued ?? []
        queued = nil
        for message in messages { write(message.bytes, message.telling) }
    }

    func send(_ bytes: [UInt8], telling: Int?) -> Bool {
        guard hears, line.isOpen else { return false }
        if queued == nil { write(bytes, telling) } else { queued?.append((bytes, telling)) }
        return true
    }

    private func write(_ bytes: [UInt8], _ telling: Int?) {
        network.send(bytes.last == 10 ? Array(bytes.dropLast()) : bytes, on: line)
        guard let telling else { return }
        network.time.after(.milliseconds(1)) { [self] in if line.isAlive() { handler(.written(telling)) } }
    }

    /// Closes the input. The program ends when it reads that, unless it hangs.
    func closeInput() {
        guard hears else { return }
        hears = false
        network.leave(line) { [self] in if !network.worksOn(line) { exits(.exited(0)) } }
    }

    func end(atOnce: Bool) {
        switch life {
        case .withBridge(let grace) where !atOnce, .byItself(let grace) where !atOnce:
            closeInput()
            network.time.after(grace + grace) { [self] in killed() }
        case .withBridge, .byItself, .outlives: killed()
        }
    }

    func pauseReading() {}
    func resumeReading() {}

    private func killed() {
        hears = false
        network.kill(line)
        exits(.signalled(9))
    }

    private func exits(_ end: ProcessEnd) {
        guard line.takeEnd() else { return }
        network.time.after(.milliseconds(3)) { [self] in if line.isAlive() { handler(.exited(end, lastWords: "")) } }
    }
}
