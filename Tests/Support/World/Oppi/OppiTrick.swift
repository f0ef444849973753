/// What an agent of an Oppi server does with an ask to get more out of a yes than was shown (oppi.md#permissions).
package enum OppiTrick: CaseIterable, Hashable, Sendable {
    /// A tool without a command: its input is all that says what it does.
    case wholeInput
    /// Members beside the command.
    case beside
    /// Behind a yes whose answer is lost, the same id asks for another command.
    case another
    /// An extension asks, and does the same; the head dialect alone has its dialogs.
    case anotherDialog
}

extension OppiTrick {
    static let more: GatewayValue = ["LD_PRELOAD": "/srv/\u{202E}evil.so"]

    static func input(_ command: String, _ trick: OppiTrick?) -> GatewayValue {
        switch trick {
        case .wholeInput: ["path": "/home/ada/.bashrc", "content": "\(command)", "mode": .integer(493)]
        case .beside: ["timeout": 5, "command": "\(command)", "env": more]
        case .another, .anotherDialog, nil: ["command": "\(command)"]
        }
    }
}
