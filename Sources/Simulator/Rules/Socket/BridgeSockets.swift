/// The bridge's connections, the orders to their server, and the requests that went out on them.
///
/// Invariants: `order` and `sockets` name the same connections, each with a number of its own; a closing one is
/// closed once and receives nothing more; a request waits only as long as its socket exists.
struct BridgeSockets: Sendable {
    private var last = 0
    private var sockets: [SocketID: BridgeSocket] = [:]
    /// Oldest first.
    private var order: [SocketID] = []
    private var instructions: [SocketInstruction] = []
    /// Oldest first.
    private var requests: [RemoteRequest] = []

    // MARK: Look-up

    var count: Int { sockets.count }
    var isEmpty: Bool { sockets.isEmpty }
    /// Oldest first.
    var ids: [SocketID] { order }
    /// Number of connections that are not closing.
    var openCount: Int { order.count { sockets[$0]?.isClosing == false } }

    subscript(id: SocketID) -> BridgeSocket? { sockets[id] }

    func takesPart(_ id: SocketID) -> Bool { sockets[id]?.speaks ?? false }

    var reports: [SocketReport] {
        order.compactMap { id in
            sockets[id].map {
                SocketReport(
                    socket: id, version: $0.version, openedAt: $0.openedAt, updatesSent: $0.updatesSent,
                    missedPongs: $0.missedPongs, isClosing: $0.isClosing)
            }
        }
    }

    // MARK: Coming and going

    mutating func add(_ socket: BridgeSocket) -> SocketID {
        last += 1
        let id = SocketID(number: last)
        sockets[id] = socket
        order.append(id)
        return id
    }

    mutating func ended(_ id: SocketID) {
        sockets[id] = nil
        order.removeAll { $0 == id }
        for index in requests.indices where requests[index].socket == id && requests[index].outcome == .waiting {
            requests[index].outcome = .lost
        }
    }

    /// A code that the protocol does not allow cuts the connection.
    mutating func close(_ id: SocketID, code: Int, _ reason: String) {
        guard sockets[id]?.isClosing == false else { return }
        guard Self.mayBeSent(code) else { return cut(id) }
        sockets[id]?.isClosing = true
        instruct(id, .close(code: code, reason: reason))
    }

    mutating func cut(_ id: SocketID) {
        sockets[id]?.isClosing = true
        instruct(id, .cut)
    }

    mutating func silence(halfOpen: Bool) {
        for id in order {
            sockets[id]?.manner = halfOpen ? .halfOpen : .silent
            if halfOpen { instruct(id, .stopReading) }
        }
    }

    /// RFC 6455, 7.4: the codes that an endpoint may put into a closing frame.
    static func mayBeSent(_ code: Int) -> Bool {
        (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
    }

    // MARK: Frames

    mutating func instruct(_ id: SocketID, _ order: SocketInstruction.Order) {
        instructions.append(SocketInstruction(socket: id, order: order))
    }

    mutating func takeInstructions() -> [SocketInstruction] {
        defer { instructions = [] }
        return instructions
    }

    /// Counts a frame. True if it is the connection's first, or nil if the relay does not read the connection.
    mutating func frameReceived(on id: SocketID) -> Bool? {
        guard let socket = sockets[id], socket.manner == .normal || socket.manner == .withoutPings else { return nil }
        sockets[id]?.framesReceived += 1
        return socket.framesReceived == 0
    }

    mutating func helloReceived(version: String, on id: SocketID) { sockets[id]?.version = version }
    mutating func pongReceived(on id: SocketID) { sockets[id]?.pongReceived() }

    /// Heartbeats of all connections that are due now.
    mutating func beats(at now: Moment, _ options: RelayOptions.Socket) -> [(socket: SocketID, beat: BridgeSocket.Beat)]
    {
        order.flatMap { id in (sockets[id]?.beats(at: now, options) ?? []).map { (id, $0) } }
    }

    // MARK: Updates

    mutating func isDue(_ update: String, on id: SocketID, at now: Moment, every milliseconds: Int64)
        -> (sends: Bool, isFirst: Bool)?
    {
        sockets[id]?.isDue(update, at: now, every: milliseconds)
    }

    mutating func send(_ frame: [UInt8], copies: Int, on id: SocketID) {
        for _ in 0..<copies { instruct(id, .send(frame)) }
        sockets[id]?.updatesSent += copies
    }

    mutating func forget(_ update: String) { for id in order { sockets[id]?.forget(update) } }

    // MARK: Requests

    func request(_ id: String) -> RemoteRequest? { requests.first { $0.id == id } }

    mutating func ask(_ request: RemoteRequest, frame: [UInt8], limit: Int) {
        requests.append(request)
        if requests.count > limit { requests.removeFirst() }
        instruct(request.socket, .send(frame))
    }

    /// Keeps the newest answers up to a number of bytes, and always the newest one.
    mutating func answered(_ id: String, _ frame: [UInt8], limit: Int) {
        guard let index = requests.firstIndex(where: { $0.id == id && $0.outcome == .waiting }) else { return }
        requests[index].outcome = .answered(frame)
        var bytes = 0
        for index in requests.indices.reversed() {
            guard case .answered(let frame) = requests[index].outcome else { continue }
            bytes += frame.count
            if bytes > limit, bytes > frame.count { requests[index].outcome = .forgotten }
        }
    }
}

// A part of a relay's state.
extension BridgeSockets {
    func write(to state: inout JSONWriter) { state.field("last_socket", Int64(last)) }
    mutating func restore(_ state: StateReader) throws(StateReader.Fault) { last = try state.integer("last_socket") }
}
