/// The text of a run as `chat` makes it of what the agent says (openclaw.md#chat): each era with its own faults.
enum GatewayText {
    /// `earlier`: the messages before the newest, which says `said` now, `addition` more than before.
    static func merged(_ text: String, earlier: String, _ said: String, _ addition: String, _ era: GatewayEra) -> String
    {
        switch era {
        case .e1: said
        case .e2: said.hasPrefix(text) ? said : text + unrepeated(addition, behind: text)
        // A message that begins with all of the text takes its place.
        case .e3, .e4: !earlier.isEmpty && said.hasPrefix(text) ? said : text + addition
        }
    }

    /// Without what the text ends with already.
    private static func unrepeated(_ addition: String, behind text: String) -> Substring {
        var overlap = min(addition.count, text.count)
        while overlap > 0, !text.hasSuffix(addition.prefix(overlap)) { overlap -= 1 }
        return addition.dropFirst(overlap)
    }
}
