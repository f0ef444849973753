package import BridgeModel

/// The far side of an agent: what it says on sockets that the bridge opens, and as programs that the bridge starts. OpenClaw has its
/// own (`ScriptedGateway`).
package protocol AgentDouble: AnyObject {
    /// A socket opens, or a program begins. False: it refuses.
    func opened(_ line: DoubleLine) -> Bool
    func received(_ frame: [UInt8], on line: DoubleLine)
    /// The bridge left it, or died; a program hears the end of its input.
    func ended(_ line: DoubleLine)
}

/// One socket or program, as the far side has it.
package final class DoubleLine: @unchecked Sendable {
    package let number: Int
    /// The command line of a program, the address of a socket.
    package let arguments: [String]
    let isAlive: () -> Bool
    let hear: ([UInt8]) -> Void
    let hearEnd: (_ isCut: Bool) -> Void
    private let time: VirtualTime
    /// At the far side.
    private(set) package var isOpen = true
    /// At the bridge.
    private var isHeard = true

    init(
        _ number: Int, _ arguments: [String], _ time: VirtualTime, isAlive: @escaping () -> Bool,
        hear: @escaping ([UInt8]) -> Void, hearEnd: @escaping (Bool) -> Void
    ) {
        self.number = number
        self.arguments = arguments
        self.time = time
        self.isAlive = isAlive
        self.hear = hear
        self.hearEnd = hearEnd
    }

    /// Arrives a moment later, behind what was said before.
    package func say(_ frame: String) {
        guard isOpen else { return }
        time.after(.milliseconds(1)) { [self] in
            guard isHeard, isAlive() else { return }
            var bytes = Array(frame.utf8)
            bytes.reserveCapacity(bytes.count + 64)
            hear(bytes)
        }
    }

    /// The far side closes the socket, the program ends. `isCut`: what is under way is lost.
    package func end(isCut: Bool = false) {
        isOpen = false
        if isCut { bridgeIsTold(isCut) } else { time.after(.milliseconds(1)) { [self] in bridgeIsTold(false) } }
    }

    private func bridgeIsTold(_ isCut: Bool) {
        guard isHeard else { return }
        isHeard = false
        time.after(.milliseconds(1)) { [self] in if isAlive() { hearEnd(isCut) } }
    }

    /// The bridge left it.
    func left() { isOpen = false }
}

/// The network and the process table between the bridge's process and the double, on virtual time.
package final class DoubleNetwork: @unchecked Sendable {
    private let double: any AgentDouble
    private let time: VirtualTime
    private var random: SeededGenerator
    private var lines: [Int: DoubleLine] = [:]
    private var lastNumber = 0
    /// Until then nothing opens and nothing starts.
    package var awayUntil = Instant.zero
    package private(set) var opened = 0

    package init(_ double: any AgentDouble, _ time: VirtualTime, seed: UInt64) {
        self.double = double
        self.time = time
        random = SeededGenerator(seed: seed)
    }

    /// All that is open breaks, and stays away.
    package func cut(away: Duration) {
        awayUntil = time.now + away
        for line in open {
            lines[line.number] = nil
            line.end(isCut: true)
            double.ended(line)
        }
    }

    /// The bridge's process is gone: its sockets close, its children read the end of their input. What had left may still arrive.
    func killed() { for line in open { leave(line) } }

    package var open: [DoubleLine] { lines.values.sorted { $0.number < $1.number } }

    func sockets(_ isAlive: @escaping () -> Bool) -> any WebSocketClient { Sockets(network: self, isAlive: isAlive) }
    func programs(_ isAlive: @escaping () -> Bool) -> any ChildRunner { Programs(network: self, isAlive: isAlive) }

    private func make(
        _ arguments: [String], _ isAlive: @escaping () -> Bool, hear: @escaping ([UInt8]) -> Void,
        hearEnd: @escaping (Bool) -> Void
    ) -> DoubleLine {
        lastNumber += 1
        return DoubleLine(lastNumber, arguments, time, isAlive: isAlive, hear: hear, hearEnd: hearEnd)
    }

    /// False: it refuses, or is away.
    private func begin(_ line: DoubleLine) -> Bool {
        guard time.now >= awayUntil, line.isOpen, double.opened(line) else { return false }
        lines[line.number] = line
        opened += 1
        return true
    }

    private func send(_ bytes: [UInt8], on line: DoubleLine) {
        time.after(.milliseconds(1)) { [self] in
            guard lines[line.number] != nil else { return }
            // Of a process that died, some frames had left and some had not.
            if !line.isAlive(), random.happens(0.5) { return }
            double.received(bytes, on: line)
        }
    }

    /// By the bridge, behind what it sent.
    private func leave(_ line: DoubleLine) {
        time.after(.milliseconds(2)) { [self] in
            guard lines.removeValue(forKey: line.number) != nil else { return }
            line.left()
            double.ended(line)
        }
    }

    // MARK: The bridge's side

    private final class Sockets: WebSocketClient, @unchecked Sendable {
        let network: DoubleNetwork
        let isAlive: () -> Bool

        init(network: DoubleNetwork, isAlive: @escaping () -> Bool) {
            self.network = network
            self.isAlive = isAlive
        }

        func open(
            _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
        ) -> any WebSocketLink {
            let line = network.make([request.url], isAlive) {
                handler(.text($0))
            } hearEnd: { isCut in
                handler(.closed(code: isCut ? nil : 1000, reason: "", byPeer: true))
            }
            let link = VirtualLink()
            let (network, isAlive) = (network, isAlive)
            link.onSend = { network.send($0, on: line) }
            link.onClose = { code in
                network.leave(line)
                network.time.after(.milliseconds(1)) {
                    if isAlive() { handler(.closed(code: code, reason: "", byPeer: false)) }
                }
            }
            network.time.after(.milliseconds(1)) {
                guard isAlive(), !link.isOver else { return }
                if network.begin(line) { return handler(.opened([])) }
                handler(.failed(WebSocketFailure(.connectionRefused, "connection refused")))
            }
            return link
        }
    }

    private final class Programs: ChildRunner, @unchecked Sendable {
        let network: DoubleNetwork
        let isAlive: () -> Bool

        init(network: DoubleNetwork, isAlive: @escaping () -> Bool) {
            self.network = network
            self.isAlive = isAlive
        }

        func start(
            _ plan: ChildPlan, record: (@Sendable (ProcessName, @escaping @Sendable (Bool) -> Void) -> Void)?,
            handler: @escaping @Sendable (ChildEvent) -> Void
        ) -> any ChildLink {
            let line = network.make(plan.arguments, isAlive) {
                handler(.line($0))
            } hearEnd: { isCut in
                handler(.exited(isCut ? .signalled(9) : .exited(0), lastWords: ""))
            }
            let name = ProcessName(id: Int32(1_000 + line.number), startTicks: 1)
            let child = Child(network: network, line: line, handler: handler)
            let network = network
            let release: @Sendable (Bool) -> Void = { mayRun in
                network.time.after(.milliseconds(1)) {
                    guard child.line.isAlive() else { return }
                    guard mayRun else { return handler(.failed(ChildFailure(.calledOff, "the start was called off"))) }
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

    private final class Child: ChildLink, @unchecked Sendable {
        let network: DoubleNetwork
        let line: DoubleLine
        let handler: @Sendable (ChildEvent) -> Void
        /// Before the program runs.
        private var queued: [(bytes: [UInt8], telling: Int?)]? = []
        private var hears = true

        init(network: DoubleNetwork, line: DoubleLine, handler: @escaping @Sendable (ChildEvent) -> Void) {
            self.network = network
            self.line = line
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

        func closeInput() { leave(atOnce: false) }
        func end(atOnce: Bool) { leave(atOnce: atOnce) }
        func pauseReading() {}
        func resumeReading() {}

        private func leave(atOnce: Bool) {
            guard hears else { return }
            hears = false
            network.leave(line)
            network.time.after(.milliseconds(3)) { [self] in
                if line.isAlive() { handler(.exited(atOnce ? .signalled(9) : .exited(0), lastWords: "")) }
            }
        }
    }
}
