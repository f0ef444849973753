/// Failure to start a server. The message names the cause and the remedy.
package struct LocalServerError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// Another program listens there.
        case portInUse
        /// The address is not HOST:PORT with a numeric host, or does not belong to this machine.
        case badAddress
        /// Other machines can reach the address, which was not allowed.
        case notLoopback
        /// Ports below 1024 belong to root.
        case notPermitted
        /// The system refused for another reason; the message has its words.
        case startFailed
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
