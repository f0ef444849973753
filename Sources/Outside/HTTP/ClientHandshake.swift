import OSThreads
import Vocabulary
import WebSocketCodec
import WebSocketLoop

/// Sends the upgrade request and receives the response, within `handshakeTimeout`.
struct ClientHandshake {
    enum Outcome {
        case accepted(ResponseHead, early: [UInt8])
        case refused(ResponseHead, body: [UInt8])
        case cut
    }

    let address: WebSocketAddress
    let request: WebSocketRequest
    let stream: CurlStream
    let control: LinkControl

    func run() throws(WebSocketFailure) -> Outcome {
        let deadline = Deadline(after: request.handshakeTimeout)
        var random = SystemRandomNumberGenerator()
        let key = UpgradeHandshake.key(from: (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        let asked = UpgradeHandshake.request(
            target: address.target, host: address.authority, key: key, headers: request.headers)
        guard try send(asked, until: deadline), let (head, rest) = try receiveHead(until: deadline) else { return .cut }
        guard head.status == 101 else {
            guard let body = receiveBody(of: head, rest, until: deadline) else { return .cut }
            return .refused(head, body: body)
        }
        if let fault = UpgradeHandshake.fault(of: head, key: key) { throw WebSocketFailure(.badHandshake, fault) }
        return .accepted(head, early: rest)
    }

    private static let late = WebSocketFailure(.timedOut, "the server did not answer the upgrade in time")

    /// False if the connection was cut.
    private func send(_ bytes: [UInt8], until deadline: Deadline) throws(WebSocketFailure) -> Bool {
        var sent = 0
        while sent < bytes.count {
            if control.isCut { return false }
            switch bytes.withUnsafeBytes({ stream.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) {
            case .taken(let count): sent += count
            case .blocked:
                if deadline.hasPassed { throw Self.late }
                _ = wait(for: stream.descriptor, reading: false, writing: true, orders: control, until: deadline)
            case .failed(let reason): throw WebSocketFailure(.connectionLost, "the connection was lost: \(reason)")
            }
        }
        return true
    }

    private func receiveHead(
        until deadline: Deadline
    ) throws(WebSocketFailure) -> (head: ResponseHead, rest: [UInt8])? {
        var parser = ResponseHeadParser()
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while !control.isCut {
            switch receive(into: &buffer, until: deadline) {
            case .bytes(let count):
                do throws(HandshakeError) {
                    if let found = try parser.take(buffer[..<count]) { return found }
                } catch {
                    throw WebSocketFailure(.badHandshake, error.message)
                }
            case .blocked:
                if deadline.hasPassed { throw Self.late }
            case .ended:
                throw WebSocketFailure(
                    .connectionLost, "the server ended the connection before it answered the upgrade")
            case .failed(let reason):
                throw WebSocketFailure(.connectionLost, "the connection was lost before the answer: \(reason)")
            }
        }
        return nil
    }

    /// The body so far, when it is whole, the connection ends or the time is up. Nil if the connection was cut.
    private func receiveBody(of head: ResponseHead, _ rest: [UInt8], until deadline: Deadline) -> [UInt8]? {
        var body = RefusalBody(head)
        var isWhole = body.take(rest)
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while !isWhole {
            if control.isCut { return nil }
            switch receive(into: &buffer, until: deadline) {
            case .bytes(let count):
                isWhole = body.take(buffer[..<count])
            case .blocked: isWhole = deadline.hasPassed
            case .ended, .failed: isWhole = true
            }
        }
        return body.bytes
    }

    /// Reads once, and again after a wait if there was nothing. `.blocked` if there is still nothing.
    private func receive(into buffer: inout [UInt8], until deadline: Deadline) -> PipeRead {
        let first = buffer.withUnsafeMutableBytes { stream.read(into: $0) }
        guard first == .blocked else { return first }
        _ = wait(for: stream.descriptor, reading: true, writing: false, orders: control, until: deadline)
        return buffer.withUnsafeMutableBytes { stream.read(into: $0) }
    }
}
