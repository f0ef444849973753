import BridgeService
import RelayRules
import Vocabulary

// A plan from a seed.
extension WorldPlan {
    package static func random(seed: UInt64) -> WorldPlan {
        var random = SeededGenerator(seed: seed &* 77 &+ 5)
        var plan = WorldPlan(seed: seed)
        let count = random.pick([0, 1, 1, 1, 2, 2, 3])
        for _ in 0..<count { plan.themes.insert(random.pick(Theme.first)) }
        var later = LaterTheme(seed: seed, beside: &plan.themes)
        let hasTwo = plan.themes.contains(.tokens) || random.happens(0.2)
        let sides = hasTwo || later.theme == .neighbours ? 2 : 1
        for _ in 0..<sides {
            plan.eras.append(random.pick(GatewayEra.allCases))
            plan.mirrors.append(plan.themes.contains(.foreign) ? random.pick([.none, .cron, .cron, .all]) : .none)
        }
        plan.drawMessages(using: &random)
        for theme in Theme.first where plan.themes.contains(theme) { plan.draw(theme, using: &random) }
        if later.theme == .neighbours { plan.leaveUntouched(1) }
        if let theme = later.theme {
            plan.themes.insert(theme)
            plan.draw(theme, using: &later.random)
        }
        plan.drawSealing()
        plan.drawNotices()
        plan.drawAgents()
        plan.drawCodex()
        plan.drawClients()
        plan.drawFiles()
        plan.drawRelayHabits()
        plan.drawSilence()
        return plan
    }

    /// Drawn last with a separate generator. A short limit turns the pauses of scripts into silence.
    private mutating func drawSilence() {
        var random = SeededGenerator(seed: seed ^ 0x7175_6965)
        guard random.happens(0.25) else { return }
        quiet = .milliseconds(Int64.random(in: 300...4_000, using: &random))
    }

    /// A separate generator, so OpenClaw's worlds stay as they were. Only OpenClaw has a scheduler.
    private mutating func drawAgents() {
        agents = eras.map { _ in .openClaw }
        if drawClaude() { return }
        var random = SeededGenerator(seed: seed ^ 0x6167_656E)
        let number = Int.random(in: 0..<4, using: &random)
        guard !themes.contains(.jobs), WorldAgentKind.others.indices.contains(number) else { return }
        let other = WorldAgentKind.others[number]
        agentLimit = random.pick([8, 8, 2, 1])
        for side in agents.indices where side == 0 || random.happens(0.5) { agents[side] = other }
        guard other == .oppi else { return }
        drawOppi(using: &random)
        drawBesideRuns()
    }

    /// A separate generator, and only worlds without another theme, so older seeds stay as they were.
    private struct LaterTheme {
        var theme: Theme?
        var random: SeededGenerator

        init(seed: UInt64, beside themes: inout Set<Theme>) {
            random = SeededGenerator(seed: seed ^ 0x6C61_7465)
            guard themes.isEmpty else { return }
            theme = random.pick([
                nil, .jobs, .jobs, .jobs, .jobs, .codes, .codes, .codes, .codes, .shutdowns, .neighbours,
            ])
            switch theme {
            case .neighbours: themes.insert(random.pick(WorldPlan.ofOneSide))
            case .jobs: if random.happens(0.3) { themes.insert(random.pick(Theme.first)) }
            // A theme beside a code must not cost a call of its own.
            case .codes: if random.happens(0.2) { themes.insert(random.pick([.kills, .agentLink])) }
            default: break
            }
        }
    }

    private mutating func drawMessages(using random: inout SeededGenerator) {
        let hasStops = themes.contains(.stops)
        if themes.contains(.plenty) { heldBytes = 60_000 }
        let kinds =
            hasStops ? [.text, .tools, .approval, .approval, .detached, .long, .long] : WorldScript.Kind.drawn
        for number in 0..<Int.random(in: 1...6, using: &random) {
            var script = WorldScript(random.pick(kinds), name: "m\(seed)x\(number)", using: &random)
            if themes.contains(.plenty) { script.addPlenty(using: &random) }
            var message = Message(
                at: .milliseconds(Int64.random(in: 100...9_000, using: &random)),
                side: Int.random(in: 0..<eras.count, using: &random), chat: Int.random(in: 0...2, using: &random),
                script: script)
            let tap = random.pick(["approve", "approve", "approve_always", "deny"])
            let scope = tap == "approve_always" ? random.pick([nil, "all", "session", "host", "planet"]) : nil
            message.decision = Decision(
                tap: tap, scope: ApprovalScope(kind: scope, value: scope == "host" ? "gateway" : nil),
                after: .milliseconds(Int64.random(in: 50...6_000, using: &random)))
            // A full disk may accept the second message first, and rows of a follow-up must not meet another
            // message's.
            if random.happens(0.15), !themes.contains(.disk), script.kind != .approval, script.kind != .detached {
                message.second = WorldScript(.text, name: "m\(seed)y\(number)", using: &random)
                message.secondAfter = .milliseconds(Int64.random(in: 1...4_000, using: &random))
            }
            if hasStops, random.happens(0.6) {
                message.stopsAfter = .milliseconds(Int64.random(in: 0...7_000, using: &random))
            }
            messages.append(message)
        }
        messages.sort { $0.at < $1.at }
        separateFollowUps()
    }

    /// Rows of a follow-up follow those of the next message, and only E4 names their run. A bridge that needs them
    /// after a loss could not tell whose they are (openclaw.md#disconnects).
    private mutating func separateFollowUps() {
        for index in messages.indices where eras[messages[index].side] != .e4 {
            let (side, chat) = (messages[index].side, messages[index].chat)
            let isShared = messages.contains {
                $0.side == side && $0.chat == chat && ($0.script.kind == .approval || $0.script.kind == .detached)
            }
            if isShared { messages[index].chat = 10 + index }
        }
    }

    private mutating func add(_ misfortune: Misfortune, side: Int? = nil, using random: inout SeededGenerator) {
        troubles.append(
            Trouble(
                at: .milliseconds(Int64.random(in: 50...16_000, using: &random)),
                side: side ?? Int.random(in: 0..<eras.count, using: &random), misfortune: misfortune))
    }

    private mutating func draw(_ theme: Theme, using random: inout SeededGenerator) {
        func moment(_ range: ClosedRange<Int64>, _ random: inout SeededGenerator) -> Duration {
            .milliseconds(Int64.random(in: range, using: &random))
        }
        if theme == .jobs { return drawJobs(using: &random) }
        if theme == .codes { return drawCode(using: &random) }
        if theme == .shutdowns { return drawShutdowns(using: &random) }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            switch theme {
            case .kills: add(.kill(down: moment(1...3_000, &random)), using: &random)
            case .agentLink:
                let away = random.happens(0.5) ? Duration.zero : moment(100...12_000, &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: add(.cutGateway(away: away), using: &random)
                case 1:
                    add(.cutGatewayBehind(frames: Int.random(in: 0...60, using: &random), away: away), using: &random)
                default: add(.deafGateway(moment(100...9_000, &random)), using: &random)
                }
            case .relayLink: add(relayLink(using: &random), using: &random)
            case .answers: add(answers(using: &random), using: &random)
            case .pages: add(pages(using: &random), using: &random)
            case .refusals: add(refusal(using: &random), using: &random)
            case .disk:
                if random.happens(0.5) {
                    add(.fullDisk(moment(100...6_000, &random)), using: &random)
                } else {
                    add(.slowDisk(sync: .milliseconds(500), moment(1_000...15_000, &random)), using: &random)
                }
            case .stops: drawStop(using: &random)
            case .foreign: drawForeign(using: &random)
            case .tokens: add(.revokes(reloadAfter: moment(100...4_000, &random)), using: &random)
            case .numbers: add(.distortsNumbers(moment(500...6_000, &random)), using: &random)
            case .pairing: drawPairing(using: &random)
            case .plenty: add(.relayAway(moment(1_000...12_000, &random)), using: &random)
            case .sleep: drawSleep(using: &random)
            case .jobs, .codes, .shutdowns, .neighbours: break
            }
        }
    }

    /// The worst moments for a Stop: while the journal writes its message, while the agent is deaf, and just before
    /// the process dies.
    private mutating func drawStop(using random: inout SeededGenerator) {
        let index = Int.random(in: messages.indices, using: &random)
        let (side, at) = (messages[index].side, messages[index].at)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            troubles.append(Trouble(at: .zero, side: 0, misfortune: .slowDisk(sync: .milliseconds(500), .seconds(18))))
            messages[index].stopsAfter = .milliseconds(Int64.random(in: 1...900, using: &random))
        case 1:
            let stop = messages[index].stopsAfter ?? .milliseconds(Int64.random(in: 500...5_000, using: &random))
            messages[index].stopsAfter = stop
            let before = Duration.milliseconds(Int64.random(in: 1...1_500, using: &random))
            troubles.append(
                Trouble(
                    at: max(.zero, at + stop - before), side: side,
                    misfortune: .deafGateway(.milliseconds(Int64.random(in: 500...9_000, using: &random)))))
            guard random.happens(0.6) else { return }
            let down = Duration.milliseconds(Int64.random(in: 1...2_000, using: &random))
            let after = Duration.milliseconds(Int64.random(in: 5...800, using: &random))
            troubles.append(Trouble(at: at + stop + after, side: 0, misfortune: .kill(down: down)))
        case 2:
            // An allowed ask that the agent did not hear, then a Stop, then a new link.
            guard let decision = messages[index].decision else { return }
            messages[index].script = WorldScript(.approval, name: messages[index].script.name, using: &random)
            messages[index].decision = Decision(tap: "approve", after: decision.after)
            let asked = at + .milliseconds(Int64.random(in: 150...1_500, using: &random))
            troubles.append(Trouble(at: asked, side: side, misfortune: .deafGateway(.seconds(14))))
            messages[index].stopsAfter = asked - at + decision.after + .milliseconds(500)
            troubles.append(
                Trouble(
                    at: asked + decision.after + .milliseconds(Int64.random(in: 900...2_500, using: &random)),
                    side: side, misfortune: .cutGateway(away: .zero)))
        default: break
        }
    }

    private mutating func drawPairing(using random: inout SeededGenerator) {
        let side = Int.random(in: 0..<eras.count, using: &random)
        let time = Duration.milliseconds(Int64.random(in: 500...40_000, using: &random))
        if random.happens(0.5) { add(.cutGateway(away: .zero), side: side, using: &random) }
        let at = random.happens(0.5) ? Duration.zero : .milliseconds(Int64.random(in: 0...9_000, using: &random))
        troubles.append(Trouble(at: at, side: side, misfortune: .pairing(time)))
        quietAt = max(quietAt, .seconds(50))
    }

    /// Answers get lost, and then the process is down for more than a day.
    private mutating func drawSleep(using random: inout SeededGenerator) {
        guard quietAt < .seconds(3_600) else { return }
        let at = Int64.random(in: 300...12_000, using: &random)
        for side in eras.indices {
            troubles.append(
                Trouble(
                    at: .milliseconds(max(0, at - 700)), side: side,
                    misfortune: .lossyCalls(rate: 0.6, .seconds(3))))
        }
        let down = Duration.seconds(25 * 3_600)
        troubles.append(Trouble(at: .milliseconds(at), side: 0, misfortune: .kill(down: down)))
        quietAt = down + .seconds(60)
    }

    private mutating func drawForeign(using random: inout SeededGenerator) {
        let number = troubles.count
        switch Int.random(in: 0..<4, using: &random) {
        case 0: add(.deletesChat(Int.random(in: 0...2, using: &random)), using: &random)
        case 1: add(.foreignRun(name: "private\(seed)x\(number)", chat: nil), using: &random)
        default: add(.job(name: "job\(seed)x\(number)"), using: &random)
        }
    }

    private func relayLink(using random: inout SeededGenerator) -> Misfortune {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: .cutRelay
        case 1: .cutRelayBehind(frames: Int.random(in: 0...20, using: &random))
        case 2: .relayAway(.milliseconds(Int64.random(in: 100...8_000, using: &random)))
        case 3: .lossyCalls(rate: 0.3, .milliseconds(Int64.random(in: 500...8_000, using: &random)))
        default:
            .socket(
                SocketFault(
                    random.pick([
                        .acceptedThenClosed(code: 1000), .acceptedThenCut, .doubled, .secondIdentifier, .flat, .backlog,
                        .lostAcknowledgement, .refused(status: 503, code: "temporarily_unavailable"),
                    ])))
        }
    }

    static let methods = [
        "sendMessage", "sendMessageDelta", "sendMessageEnd", "createTask", "updateTask", "finishTask",
        "requestApproval", "createSession",
    ]

    /// Each of them makes the bridge send the same bytes again.
    private func answers(using random: inout SeededGenerator) -> Misfortune {
        let kind: Fault.Kind = random.pick([
            .rateLimited(retryAfterMilliseconds: 300, namesBucket: true),
            .rateLimited(retryAfterMilliseconds: 5_000, namesBucket: false), .status(500, retryAfterMilliseconds: nil),
            .status(502, retryAfterMilliseconds: nil), .status(503, retryAfterMilliseconds: 400),
            .refused(status: 503, code: "agent_degraded"), .refused(status: 503, code: "napping"),
            .refused(status: 429, code: "slow_down"), .refused(status: 408, code: "too_slow"),
            .refused(status: 425, code: "too_early"), .refused(status: 507, code: "out_of_room"), .reset, .replyLost,
            .html, .truncated, .oddRetryAfter("soon"), .slow(milliseconds: 900), .slow(milliseconds: 20_000),
            .redirect, .socketsCut, .socketsClosed(code: 1000), .restart(milliseconds: 2_000),
        ])
        return .call(
            Fault(
                kind, method: random.happens(0.7) ? random.pick(Self.methods) : nil,
                count: Int.random(in: 1...3, using: &random)))
    }

    private func pages(using random: inout SeededGenerator) -> Misfortune {
        let page = random.pick(ProxyPage.allCases)
        let status = random.pick([200, 400, 401, 403, 403, 404, 404, 407, 410, 413, 429, 451, 500, 502, 503])
        if random.happens(0.25) { return .socket(SocketFault(.page(page, status: status == 200 ? 403 : status))) }
        return .call(
            Fault(
                random.happens(0.2) ? .pageAfter(page, status: status) : .page(page, status: status),
                method: random.happens(0.8) ? random.pick(Self.methods) : nil,
                count: Int.random(in: 1...4, using: &random)))
    }

    /// Final refusals in the relay's own envelope.
    private func refusal(using random: inout SeededGenerator) -> Misfortune {
        let (status, code) = random.pick([
            (400, "invalid_request"), (403, "permission_denied"), (403, "memory_access_denied"), (403, "unheard_of"),
            (404, "unheard_of"), (409, "unheard_of"), (413, "payload_too_large"), (418, "teapot"),
            (422, "tool_not_declared"), (422, "egress_denied"), (451, "content_blocked"),
        ])
        return .call(
            Fault(
                .refused(status: status, code: code), method: random.pick(Self.methods),
                count: random.pick([1, 1, 1, 2, 3])))
    }
}
