import BridgeService
import RelayRules
import Vocabulary

// Codex in a world, and troubles that the bridge has no part in.
extension WorldPlan {
    /// A separate generator, and only worlds with OpenClaw alone, so other seeds stay as they were. One world in five
    /// has Codex.
    mutating func drawCodex() {
        var random = SeededGenerator(seed: seed ^ 0x636F_6465_78)
        guard !themes.contains(.jobs), agents.allSatisfy({ $0 == .openClaw }), random.happens(0.5) else { return }
        for side in agents.indices where side == 0 || random.happens(0.5) { agents[side] = .codex }
        gatherChats(using: &random)
        // A relay's code is judged without other troubles.
        guard !themes.contains(.codes) else { return }
        defer {
            drawBusyThreads(using: &random)
            drawNumbersAgain()
        }
        for side in agents.indices where agents[side] == .codex && side != untouched {
            for number in 0..<random.pick([0, 0, 1, 1, 2, 3, 5]) {
                let trouble = codexTrouble("private\(seed)x\(side)\(number)", using: &random)
                // Most troubles come during a turn.
                let message = random.pick(messages.filter { $0.side == side }.map(\.at) + [.zero])
                var at = message + .milliseconds(Int64.random(in: 5...4_000, using: &random))
                if case .prompt = trouble {
                    // Another client's turn begins before a message of the chat.
                    at = max(.zero, message - .milliseconds(Int64.random(in: 5...3_000, using: &random)))
                    if random.happens(0.3) { mirrors[side] = .all }
                }
                troubles.append(Trouble(at: at, side: side, misfortune: .codex(trouble)))
            }
        }
    }

    /// Codex names the turn in every frame, so messages with approvals may follow each other in a chat.
    private mutating func gatherChats(using random: inout SeededGenerator) {
        guard sealing == nil else { return }
        for index in messages.indices where agents[messages[index].side] == .codex {
            messages[index].chat = random.pick([0, 0, 1])
            let isFree = !themes.contains(.plenty) && messages[index].second == nil
            if isFree, random.happens(0.3) {
                messages[index].script = WorldScript(.approval, name: messages[index].script.name, using: &random)
            }
            // More Stops, so Codex's habits about them occur.
            let isAsked = [.approval, .detached].contains(messages[index].script.kind)
            if isFree, messages[index].stopsAfter == nil, !isAsked, random.happens(0.7) {
                messages[index].stopsAfter = .milliseconds(Int64.random(in: 60...1_200, using: &random))
            }
        }
    }

    /// Another client prompts in each idle thread, and then the person writes in one of them.
    private mutating func drawBusyThreads(using random: inout SeededGenerator) {
        let others: Set<Theme> = [.numbers, .refusals, .disk, .sleep, .tokens, .pairing, .shutdowns]
        guard sealing == nil, themes.isDisjoint(with: others), random.happens(0.5),
            var message = messages.first(where: { agents[$0.side] == .codex && $0.side != untouched })
        else { return }
        message.at = quietAt - .seconds(3)
        message.script = WorldScript(.text, name: "m\(seed)x\(messages.count)", using: &random)
        (message.decision, message.stopsAfter, message.second) = (nil, nil, nil)
        messages.append(message)
        for thread in 0..<3 {
            let before = Duration.milliseconds(Int64.random(in: 100...500, using: &random))
            let prompt = CodexMisfortune.prompt(name: "private\(seed)x\(message.side)b\(thread)", thread: thread)
            troubles.append(Trouble(at: message.at - before, side: message.side, misfortune: .codex(prompt)))
        }
    }

    /// The server dies between two approvals and numbers its requests from 0 again. A separate generator keeps other
    /// worlds as they were.
    private mutating func drawNumbersAgain() {
        var random = SeededGenerator(seed: seed ^ 0x6E75_6D62_6572)
        for side in agents.indices where agents[side] == .codex && side != untouched {
            let asking = messages.filter { $0.side == side && $0.script.kind == .approval }.map(\.at).sorted()
            // Late enough that the first was asked.
            let pair = zip(asking, asking.dropFirst()).first { $1 - $0 > .seconds(2) }
            guard let next = pair?.1, random.happens(0.4) else { continue }
            troubles.append(Trouble(at: next - .milliseconds(100), side: side, misfortune: .codex(.kills)))
        }
    }

    private func codexTrouble(_ name: String, using random: inout SeededGenerator) -> CodexMisfortune {
        let thread = Int.random(in: 0..<3, using: &random)
        func moment(_ range: ClosedRange<Int64>) -> Duration { .milliseconds(Int64.random(in: range, using: &random)) }
        switch Int.random(in: 0..<22, using: &random) {
        case 0: return .archives(thread: thread)
        case 1: return .deletes(thread: thread)
        case 2: return .holds(thread: thread, moment(500...15_000))
        case 3: return .mutes(moment(200...6_000))
        case 4: return .slows(moment(1_000...8_000))
        case 5: return .overloads(Int.random(in: 1...6, using: &random))
        case 6: return .logsOut(moment(500...9_000))
        case 7: return .losesEnds(Int.random(in: 1...3, using: &random))
        case 8, 9: return .cuts
        case 10...12: return .kills
        case 13...15: return .interrupts(thread: thread)
        default: return .prompt(name: name, thread: thread)
        }
    }
}

extension WorldJudge {
    func losesCodexRuns(_ side: Int) -> Bool {
        plan.troubles.contains { trouble in
            guard trouble.side == side else { return false }
            switch trouble.misfortune {
            case .codex(let trouble): return trouble.losesRuns
            case .cutGateway(let away), .cutGatewayBehind(_, let away): return away > .zero
            case .gatewayRestarts, .pairing, .deafGateway: return true
            default: return false
            }
        }
    }

    /// No record has the text that was streaming at an interrupt, so the phone must keep its part.
    mutating func judgeStreamed(
        _ name: String, _ message: WorldPlan.Message, _ answer: PhoneMessage, _ streamed: [String], _ run: WorldRun
    ) {
        guard plan.agents[message.side] == .codex, message.script.kind != .retry, !plan.themes.contains(.numbers),
            !plan.mayBeRefused
        else { return }
        let said = WorldScript.words(of: message.script.name, in: answer.text)
        if !said.starts(with: streamed) { violation("\(name) lost what was streamed: \(streamed) to \(said)", run) }
    }

    /// The message never reached the model, and its bubble says why, or that this is unknown.
    func isCodexUnable(_ message: WorldPlan.Message, _ answer: PhoneMessage, _ side: WorldSide) -> Bool {
        guard plan.agents[message.side] == .codex, side.begun(message.text) == 0, losesCodexRuns(message.side) else {
            return false
        }
        let reasons = [
            "Codex is not logged in.", "Codex's server does not start", "Codex's server does not answer",
            "Codex cannot open this chat's thread", "Another program has this chat's thread open",
            "Codex cannot begin a thread", "Codex's server was started again",
        ]
        return reasons.contains { answer.text.contains($0) }
    }
}
