import Vocabulary

/// How the chats of a world are sealed, and the troubles of their keys.
package struct SealingPlan: Sendable {
    /// When and how the phone grants a chat's key to the bridge.
    package enum Grant: Sendable, Hashable {
        /// Before the chat's first message.
        case first
        case late(Duration)
        case twice(Duration)
        /// A key for another device comes first.
        case wrongDevice(Duration)
        case never
    }

    /// Grants by `name(side, chat)`.
    package var grants: [String: Grant] = [:]
    /// When a device announces itself that nobody allowed.
    package var strangerAt: Duration?
    /// When a second phone is revoked and the first makes new keys.
    package var rotatesAt: Duration?

    static func name(_ side: Int, _ chat: Int) -> String { "\(side) \(chat)" }

    package func grant(_ side: Int, _ chat: Int) -> Grant { grants[Self.name(side, chat)] ?? .first }
}

extension WorldPlan {
    /// Themes that lose no message for good, so sealed chats may meet them.
    private static let besideSealing: Set<Theme> = [
        .kills, .agentLink, .relayLink, .answers, .pages, .disk, .stops, .plenty, .pairing, .shutdowns,
    ]

    /// A separate generator, so other worlds stay as they were.
    mutating func drawSealing() {
        var random = SeededGenerator(seed: seed ^ 0x7365_616C)
        guard themes.isSubset(of: Self.besideSealing), random.happens(0.35) else { return }
        var plan = SealingPlan()
        for message in messages where plan.grants[SealingPlan.name(message.side, message.chat)] == nil {
            let wait = Duration.milliseconds(Int64.random(in: 50...random.pick([900, 8_000, 25_000]), using: &random))
            let grant: SealingPlan.Grant = random.pick([
                .first, .first, .late(wait), .late(wait), .twice(wait), .wrongDevice(wait), .never,
            ])
            plan.grants[SealingPlan.name(message.side, message.chat)] = grant
            // A process that dies around the grant.
            if case .late(let wait) = grant, themes.contains(.kills), random.happens(0.5) {
                let moment = message.at + wait - .milliseconds(Int64.random(in: -30...30, using: &random))
                let down = Duration.milliseconds(Int64.random(in: 1...2_000, using: &random))
                troubles.append(Trouble(at: max(.zero, moment), side: 0, misfortune: .kill(down: down)))
            }
        }
        let moment = Duration.milliseconds(Int64.random(in: 500...9_000, using: &random))
        switch Int.random(in: 0..<3, using: &random) {
        case 0: plan.strangerAt = moment
        case 1: plan.rotatesAt = moment
        default: break
        }
        sealing = plan
    }
}
