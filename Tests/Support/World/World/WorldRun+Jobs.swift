import RelayRules
import Vocabulary

// The agent's scheduler, and the person in its chats.
extension WorldRun {
    func prepareJobs() {
        for job in plan.jobs {
            let side = world.sides[job.side]
            side.gateway.scripts["Run \(job.name)."] = job.script
            side.schedulerRuns(
                "Run \(job.name).", job: WorldJob.title, in: WorldJob.session, as: job.name, after: job.at)
            guard let time = job.approvalTakes else { continue }
            world.time.after(job.at + time) { [weak side] in
                guard let side else { return }
                side.gateway.otherClientDecides(job.approval, "allow-once", at: side.now)
            }
        }
    }

    /// Leaves the newest chat of a job, if there is one.
    func leaveJobChat(_ index: Int, archives: Bool) {
        let side = world.sides[index]
        let standing = side.relay.sessions.last { chat in
            chat.source == "cron" && !chat.isDeleted && !chat.isArchived
                && chat.messages.contains { $0.streamed.contains("job") || $0.text.contains("job") }
        }
        guard let standing else { return }
        leftJobChats["\(index) \(standing.id)"] = world.time.now
        side.leavesChat(standing.id, archives: archives)
    }
}
