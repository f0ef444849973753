import Locking
package import Vocabulary

package struct LinkEdges: Sendable {

    package var sockets: any WebSocketClient
    package var clock: any Clock
    package var alarm: any Alarm
    package var random: any RandomSource
    /// Certificates of a private authority, or nil for the system's.
    package var authorityFile: String?
    package var messageLimit = 64 << 20
    /// Hears every frame; the flag is true for incoming ones.
    package var record: (@Sendable (Bool, [UInt8]) -> Void)?

    package init(
        sockets: any WebSocketClient, clock: any Clock, alarm: any Alarm, random: any RandomSource,
        authorityFile: String? = nil
    ) {
        self.sockets = sockets
        self.clock = clock
        self.alarm = alarm
        self.random = random
        self.authorityFile = authorityFile
    }
}

/// Runner of a session machine: carries out its orders and feeds it events. It has the socket and the timer, but no policy of its own.
///
/// Events come from any thread. One thread at a time carries orders out, in the order they were made; a thread that finds another at this leaves
/// its orders to it. Events of a socket that the machine has closed are dropped here, by the socket's number.
package final class LinkRunner<Machine: SessionMachine & ~Copyable>: Sendable {
    private final class State {
        var machine: Machine
        var orders: [Machine.Order] = []
        var isPerforming = false
        var wake: Instant?
        /// Number of the socket whose events count, or 0 for none.
        var current = 0
        var lastNumber = 0
        /// Links that are open or closing: releasing a link cuts it.
        var links: [Int: any WebSocketLink] = [:]

        init(_ machine: consuming sending Machine) { self.machine = machine }
    }

    private let state: Locked<State>
    private let edges: LinkEdges
    private let handle: @Sendable (Machine.Order) -> Void

    /// `handle` receives every order that is not about the socket, in order.
    package init(
        _ machine: consuming sending Machine, edges: LinkEdges, handle: @escaping @Sendable (Machine.Order) -> Void
    ) {
        state = Locked(State(machine))
        self.edges = edges
        self.handle = handle
    }

    package func tell(_ event: (inout Machine, Instant) -> Void) {
        let mayPerform = state.withLock { state in
            event(&state.machine, edges.clock.now)
            return collect(state)
        }
        if mayPerform { perform() }
    }

    /// The computer has slept: an earlier connection is dead, though no event may report it.
    package func slept() {
        tell { machine, now in
            var random = RandomAdapter(source: edges.random)
            machine.slept(at: now, using: &random)
        }
    }

    package func ask<Answer: Sendable>(_ question: (borrowing Machine) -> Answer) -> Answer {
        state.withLock { question($0.machine) }
    }

    package func stop() {
        edges.alarm.stop()
        let links = state.withLock { state in
            defer { state.links = [:] }
            return Array(state.links.values)
        }
        for link in links { link.cut() }
    }

    /// True if no socket is open or closing.
    package var isClosed: Bool { state.withLock { $0.links.isEmpty } }

    // MARK: The socket

    private func happened(_ event: WebSocketEvent, on number: Int) {
        if case .text(let frame) = event { edges.record?(true, frame) }
        let mayPerform = state.withLock { state in
            if event.isLast { state.links[number] = nil }
            guard number == state.current else { return false }
            if event.isLast { state.current = 0 }
            tellMachine(event, state, edges.clock.now)
            return collect(state)
        }
        if mayPerform { perform() }
    }

    private func tellMachine(_ event: WebSocketEvent, _ state: State, _ now: Instant) {
        var random = RandomAdapter(source: edges.random)
        switch event {
        case .opened: state.machine.opened(at: now)
        case .text(let frame), .binary(let frame):
            frame.withUnsafeBytes {
                unsafe state.machine.received($0, capacity: frame.capacity, at: now, using: &random)
            }
        case .ping: state.machine.heard(at: now)
        case .pong: state.machine.ponged(at: now)
        case .closed(let code, let reason, _):
            // 1006: the end came without a code (RFC 6455, 7.1.5).
            state.machine.closed(code: code ?? 1006, reason: reason, at: now, using: &random)
        case .refused(let status, _, let body):
            state.machine.refused(status: status, body: body, at: now, using: &random)
        case .failed(let failure): state.machine.failed(message: failure.message, at: now, using: &random)
        }
    }

    // MARK: Orders

    private func collect(_ state: State) -> Bool {
        state.orders += state.machine.takeOrders()
        guard !state.isPerforming else { return false }
        state.isPerforming = true
        return true
    }

    private func perform() {
        while true {
            let orders = state.withLock { state in
                let orders = state.orders
                state.orders = []
                if orders.isEmpty {
                    state.isPerforming = false
                    setAlarm(state)
                }
                return orders
            }
            guard !orders.isEmpty else { return }
            for order in orders {
                if let socketOrder = Machine.socketOrder(order) { carryOut(socketOrder) } else { handle(order) }
            }
        }
    }

    private func setAlarm(_ state: State) {
        let moment = state.machine.nextDeadline
        guard moment != state.wake else { return }
        state.wake = moment
        edges.alarm.set(moment) { [weak self] in self?.rang() }
    }

    private func rang() {
        let wall = edges.clock.wallMilliseconds
        state.withLock { $0.wake = nil }
        tell { machine, now in
            var random = RandomAdapter(source: edges.random)
            machine.timePassed(at: now, wallMilliseconds: wall, using: &random)
        }
    }

    private func carryOut(_ order: SocketOrder) {
        switch order {
        case .dial(let url, let headers): dial(url, headers)
        case .send(let frame):
            edges.record?(false, frame)
            currentLink?.send(text: frame)
        case .ping: currentLink?.ping()
        case .close(let code, let reason):
            let link = currentLink
            state.withLock { $0.current = 0 }
            link?.close(code: code, reason: reason)
        }
    }

    private var currentLink: (any WebSocketLink)? { state.withLock { $0.links[$0.current] } }

    private func dial(_ url: String, _ headers: [HTTPHeader]) {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.current = state.lastNumber
            return state.lastNumber
        }
        var request = WebSocketRequest(url: url, headers: headers, messageLimit: edges.messageLimit)
        request.authorityFile = edges.authorityFile
        let isOver = Locked(false)
        let link = edges.sockets.open(request) { [weak self] event in
            if event.isLast { isOver.withLock { $0 = true } }
            self?.happened(event, on: number)
        }
        state.withLock { state in
            // The socket may have ended before its link could be registered here.
            if !isOver.withLock({ $0 }) { state.links[number] = link }
        }
    }
}

extension WebSocketEvent {
    fileprivate var isLast: Bool {
        switch self {
        case .closed, .refused, .failed: true
        case .opened, .text, .binary, .ping, .pong: false
        }
    }
}
