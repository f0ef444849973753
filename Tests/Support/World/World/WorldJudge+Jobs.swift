import BridgeService
import RelayRules
import Vocabulary

// Checks of runs that no phone message began: what the phone shows of them, and what the agent hears about them.
extension WorldJudge {
    mutating func judgeJobs(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let jobs = plan.jobs.filter { $0.side == index }
        guard !jobs.isEmpty else { return }
        for heard in side.gateway.heard where heard.decision != nil {
            if jobs.contains(where: { $0.approval == heard.name }) {
                violation("\(heard.name), which nobody on the phone decided, was decided: \(heard.decision ?? "")", run)
            }
        }
        for job in jobs { judge(job, index, side, run) }
        judgeAsking(jobs, index, side, run)
    }

    /// Whether jobs are the only theme, so the judge can predict the whole outcome of a job.
    private var isExact: Bool { plan.themes == [.jobs] }

    private mutating func judge(_ job: WorldJob, _ index: Int, _ side: WorldSide, _ run: WorldRun) {
        let chats = side.relay.sessions.filter { chat in
            chat.messages.contains { !WorldScript.words(of: job.name, in: $0.text + " " + $0.streamed).isEmpty }
        }
        let said = chats.flatMap(\.messages).flatMap { WorldScript.words(of: job.name, in: $0.text) }
        if Set(said).count != said.count { violation("\(job.name) was shown twice: \(said)", run) }
        let began = Instant.zero + job.at
        for chat in chats {
            let key = "\(index) \(chat.id)"
            guard let left = run.leftJobChats[key], let heard = leftHeard[key], heard < began else { continue }
            violation("\(job.name) was shown in the chat that the person left at \(left - Instant.zero)", run)
        }
        guard isExact else { return }
        if isUnwanted(job, index, run) {
            if !chats.isEmpty { violation("\(job.name), which was not to be shown, was shown", run) }
            return
        }
        let wasLeft = chats.contains { run.leftJobChats["\(index) \($0.id)"] != nil }
        guard !wasLeft, !mayBeKept else { return }
        if said != job.words { violation("\(job.name) was shown as \(said)", run) }
        for message in chats.flatMap(\.messages) where !message.isFinal {
            violation("\(job.name) was never ended", run)
        }
    }

    /// The gateway names no run and two may be meant, or the person deleted the chat and wants no other.
    private func isUnwanted(_ job: WorldJob, _ index: Int, _ run: WorldRun) -> Bool {
        guard plan.mirrors[index] == .cron || plan.deletedChats[index] == .mute else { return false }
        let began = Instant.zero + job.at
        let isMuted =
            plan.deletedChats[index] == .mute
            && run.leftJobChats.contains { $0.key.hasPrefix("\(index) ") && $0.value < began }
        return isMuted || plan.mirrors[index] == .cron && job.isDoubtful && plan.eras[index] != .e4
    }

    /// After three attempts of unknown outcome the words wait for the next run's chat, while the process lives.
    private var mayBeKept: Bool { chatFaults.contains { $0.count > 2 } }

    private var chatFaults: [Fault] {
        plan.troubles.compactMap {
            if case .call(let fault) = $0.misfortune, fault.method == "createSession" { fault } else { nil }
        }
    }

    /// The bridge tries to make a chat at most three times with unknown outcome. A rate limit is no attempt.
    private mutating func judgeAsking(_ jobs: [WorldJob], _ index: Int, _ side: WorldSide, _ run: WorldRun) {
        guard plan.themes.isDisjoint(with: [.answers, .refusals, .foreign]) else { return }
        let others = plan.troubles.filter {
            if case .privateRun = $0.misfortune { plan.mirrors[index] == .all } else { false }
        }
        let (asked, wanted) = (side.callsMade["createSession", default: 0], jobs.count + others.count)
        if asked > 3 * wanted { violation("\(wanted) runs asked \(asked) times for a chat", run) }
    }
}
