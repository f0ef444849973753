import BridgeModel
import RelayRules

// What becomes of a run where its agent loses it with its process.
extension WorldPlan {
    func words(_ script: WorldScript, _ side: Int) -> [String] { script.words(eras[side], agents[side]) }
    func agentName(_ side: Int) -> String { agents[side] == .openClaw ? "\(eras[side])" : agents[side].rawValue }
    func isEarly(_ side: Int) -> Bool { agents[side] == .openClaw && eras[side] == .e1 }
}

extension WorldJudge {
    /// A run that its process takes with it is explained, and never begun again.
    func mayLoseRuns(_ side: Int) -> Bool { plan.agents[side] == .pi && losesAgent(side) }

    /// An answer that is whole in the session file is found there by the next process of the bridge. What ended with the agent's own
    /// process is explained.
    func isFound(_ message: WorldPlan.Message, _ run: WorldRun) -> Bool {
        guard mayLoseRuns(message.side) else { return true }
        let losesProcess = plan.troubles.contains { trouble in
            switch trouble.misfortune {
            case .cutGateway, .cutGatewayBehind, .deafGateway, .gatewayRestarts, .pairing: trouble.side == message.side
            default: false
            }
        }
        return !losesProcess && run.world.sides[message.side].isFinished(message.text)
    }

    /// Its answer is complete as soon as its run is. The lost end of a run is noticed by silence alone.
    func isQuick(_ message: WorldPlan.Message) -> Bool {
        let isOpenClaw = plan.agents[message.side] == .openClaw
        return ![.approval, .detached, .fails].contains(message.script.kind)
            && (isOpenClaw || message.script.kind != .emptyEnd)
    }
}
