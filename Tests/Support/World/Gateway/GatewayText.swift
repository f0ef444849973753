/// The text of a run as `chat` composes it from the agent's words (openclaw.md#chat), with the faults of each era.
enum GatewayText {
    /// `earlier` holds the messages before the newest. The newest now reads `said`, which is longer by `addition`.
    static func merged(_ text: String, earlier: String, _ said: String, _ addition: String, _ era: GatewayEra) -> String
    {
        switch era {
        case .e1: said
        case .e2: said.hasPrefix(text) ? said : text + unrepeated(addition, behind: text)
        // A message that begins with the whole text so far replaces it.
        case .e3, .e4: !earlier.isEmpty && said.hasPrefix(text) ? said : text + addition
        }
    }

    /// The addition without the part that the text already ends with.
    private static func unrepeated(_ addition: String, behind text: String) -> Substring {
        var overlap = min(addition.count, text.count)
        while overlap > 0, !text.hasSuffix(addition.prefix(overlap)) { overlap -= 1 }
        return addition.dropFirst(overlap)
    }
}
