package import Vocabulary

/// Orders that the link's runner carries out itself; the link's owner handles all others.
package enum SocketOrder: Sendable {
    case dial(url: String, headers: [HTTPHeader])
    case send([UInt8])
    /// A WebSocket ping, behind everything that was sent.
    case ping
    case close(code: Int, reason: String)
}

/// A link to a far side over one WebSocket at a time, as a machine: no I/O, no clock, no randomness.
package protocol SessionMachine: ~Copyable, SendableMetatype {
    associatedtype Order: Sendable

    var nextDeadline: Instant? { get }
    mutating func takeOrders() -> [Order]
    static func socketOrder(_ order: Order) -> SocketOrder?

    mutating func start(at now: Instant)
    mutating func shutDown(at now: Instant)
    mutating func opened(at now: Instant)
    /// A sign of life of the far side, without a message.
    mutating func heard(at now: Instant)
    /// A sign of life which also proves that everything sent before the last ping has arrived.
    mutating func ponged(at now: Instant)
    mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant, using random: inout some RandomNumberGenerator)
    mutating func closed(code: Int, reason: String, at now: Instant, using random: inout some RandomNumberGenerator)
    mutating func refused(status: Int, body: [UInt8], at now: Instant, using random: inout some RandomNumberGenerator)
    mutating func failed(message: String, at now: Instant, using random: inout some RandomNumberGenerator)
    mutating func slept(at now: Instant, using random: inout some RandomNumberGenerator)
    mutating func timePassed(
        at now: Instant, wallMilliseconds: Int64, using random: inout some RandomNumberGenerator)
}

extension SessionMachine where Self: ~Copyable {
    package mutating func ponged(at now: Instant) { heard(at: now) }
}
