/// Why a server could not be started. The message says what was found and what to do.
package struct LocalServerError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// Another program listens there.
        case portInUse
        /// The address is not HOST:PORT with a numeric host, or does not belong to this machine.
        case badAddress
        /// The address can be reached from other machines, which was not allowed.
        case notLoopback
        /// Ports below 1024 belong to root.
        case notPermitted
        /// The system refused for another reason; the message carries its words.
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
