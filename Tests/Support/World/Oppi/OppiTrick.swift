/// Tricks of an agent of an Oppi server that gets more out of a yes than the card showed (oppi.md#permissions).
package enum OppiTrick: CaseIterable, Hashable, Sendable {
    /// A tool without a command: only its input says what it does.
    case wholeInput
    /// Members beside the command.
    case beside
    /// The answer to a yes is lost, and the same id asks about another command.
    case another
    /// The same by an extension. Only the head dialect has its dialogs.
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
