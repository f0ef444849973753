/// A message to the bridge itself, and not to the agent: `/bridge` and what follows it (DESIGN.md#the-bridges-own-words). No agent has a
/// command of that name; every other text that begins with a slash is the agent's.
package enum OwnWord: Hashable, Sendable {
    /// `unknown`: the written text, if it is no word of the bridge's.
    case help(unknown: String?)
    /// A new conversation with the agent, in the default workspace if nil.
    case new(workspace: String?)
    case workspaces
    case status
    /// Stops the runs in the chat.
    case stop
    /// Lists open asks, and brings their cards back.
    case asks
    /// Refuses the newest open ask of the chat, with words for the agent or without.
    case no(String?)

    package static let name = "/bridge"

    /// Nil if the text is a message to the agent.
    package init?(_ text: String) {
        let said = text.drop(while: \.isWhitespace)
        // Phones begin a message with a capital letter.
        guard said.first == "/", said.prefix(Self.name.count).lowercased() == Self.name else { return nil }
        let behind = said.dropFirst(Self.name.count)
        guard behind.first?.isWhitespace ?? true else { return nil }
        let rest = behind.split(maxSplits: 2, whereSeparator: \.isWhitespace).map(String.init)
        switch (rest.first?.lowercased(), rest.count) {
        case (nil, _), ("help", 1): self = .help(unknown: nil)
        case ("new", 1): self = .new(workspace: nil)
        case ("new", 2): self = .new(workspace: rest.last)
        case ("workspaces", 1): self = .workspaces
        case ("status", 1): self = .status
        case ("stop", 1): self = .stop
        case ("asks", 1): self = .asks
        case ("no", _):
            let words = behind.drop(while: \.isWhitespace).dropFirst("no".count).drop(while: \.isWhitespace)
            self = .no(words.isEmpty ? nil : String(words))
        default: self = .help(unknown: rest.joined(separator: " "))
        }
    }

    /// The word waits for the run of its chat; the others are answered at once.
    var waits: Bool { if case .new = self { true } else { false } }
}
