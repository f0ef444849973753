/// A breach of the protocol by the peer. The connection is closed with its code, and no more is read from it.
package struct WebSocketFault: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Int, Hashable, Sendable {
        case protocolError = 1002
        case invalidText = 1007
        case messageTooLarge = 1009
    }

    package var code: Code
    package var message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
