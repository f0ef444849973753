import Vocabulary

// Other clients of an OpenClaw gateway at work in a chat of the phone, and runs that are silent for long.
extension WorldPlan {
    private static let undisturbed: Set<Theme> = [.codes, .jobs, .sleep, .neighbours, .shutdowns]
    /// Kinds of a message that steers another client's run, or waits behind it.
    private static let busyKinds: [WorldScript.Kind] = [.text, .text, .tools, .immediate]

    /// A separate generator and messages of its own, so the draws above stay as they were.
    mutating func drawClients() {
        var random = SeededGenerator(seed: seed ^ 0x636C_6965)
        guard themes.isDisjoint(with: Self.undisturbed), sealing == nil else { return }
        let sides = agents.indices.filter { agents[$0] == .openClaw && eras[$0] != .e4 }
        guard let side = sides.first else { return }
        if random.happens(0.2) { drawBusyChat(side, using: &random) }
        if random.happens(0.25), !themes.contains(.kills) { drawSilence(side, using: &random) }
        messages.sort { $0.at < $1.at }
    }

    /// After the chat's first answer another client begins a run there, and then the person writes. Sometimes a third
    /// client begins before that message runs.
    private mutating func drawBusyChat(_ side: Int, using random: inout SeededGenerator) {
        let chat = 30
        let first = Message(
            at: .milliseconds(Int64.random(in: 100...3_000, using: &random)), side: side, chat: chat,
            script: WorldScript(.immediate, name: "m\(seed)c0", using: &random))
        let begins = first.at + .milliseconds(Int64.random(in: 4_000...8_000, using: &random))
        let second = Message(
            at: begins + .milliseconds(Int64.random(in: 100...1_200, using: &random)), side: side, chat: chat,
            script: WorldScript(random.pick(Self.busyKinds), name: "m\(seed)c1", using: &random))
        messages += [first, second]
        var starts = [begins]
        if random.happens(0.6) {
            let pause = Duration.milliseconds(Int64.random(in: 50...900, using: &random))
            starts.append(begins + WorldRun.visit + pause)
        }
        for (number, at) in starts.enumerated() {
            let name = "private\(seed)c\(number)"
            troubles.append(Trouble(at: at, side: side, misfortune: .foreignRun(name: name, chat: chat)))
        }
    }

    /// A run is silent for longer than the bridge waits before a look-up, and its link breaks at the beginning.
    private mutating func drawSilence(_ side: Int, using random: inout SeededGenerator) {
        let message = Message(
            at: .milliseconds(Int64.random(in: 100...6_000, using: &random)), side: side, chat: 31,
            script: WorldScript(.silent, name: "m\(seed)s", using: &random))
        messages.append(message)
        let cut = message.at + .milliseconds(Int64.random(in: 600...4_000, using: &random))
        let away = Duration.milliseconds(Int64.random(in: 0...2_000, using: &random))
        troubles.append(Trouble(at: cut, side: side, misfortune: .cutGateway(away: away)))
    }
}
