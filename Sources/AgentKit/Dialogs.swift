package import BridgeModel
package import JSONReading

/// The dialogs of pi's extensions, which Oppi hands on (pi.md#extension-ui, oppi.md#extension-dialogs), as far as a card can hold them.
package enum DialogRequest {
    /// What only shows something and wants no answer.
    package static let notices: Set<String> = ["notify", "setStatus", "setWidget", "setTitle", "set_editor_text"]
    private static let longest = 86_400_000

    /// Nil when it cannot be answered by yes or no.
    package static func read(_ root: FrameNode, at now: Instant) -> ApprovalRequest? {
        guard let id = root["id"]?.string, let method = root["method"]?.string, ["select", "confirm"].contains(method)
        else { return nil }
        let options = root["options"]?.elements.compactMap(\.string) ?? []
        let life = root["timeout"]?.integer(clampedTo: 0...longest)
        return ApprovalRequest(
            id: ApprovalID(id), subject: .dialog, title: root["title"]?.string ?? "The agent asks",
            message: root["message"]?.string ?? options.joined(separator: " / "),
            expiresAt: life.map { now + .milliseconds($0) })
    }
}

/// The answer to a dialog, as it was sent.
package enum DialogAnswer {
    package static func decision(_ root: FrameNode) -> ApprovalDecision {
        if root["cancelled"]?.flag == true || root["confirmed"]?.flag == false { return .deny }
        if root["confirmed"]?.flag == true { return .approve }
        return meansNo(root["value"]?.string ?? "") ? .deny : .approve
    }

    package static func meansNo(_ option: String) -> Bool {
        ["block", "deny", "no", "cancel", "reject", ""].contains(option.lowercased())
    }
}
