import AgentKit
import BridgeCore
import Locking
import Vocabulary

// Observations of an agent's machine, on their way to the bridge.
extension LiveConnection {
    func observe(_ observations: [Observation]) {
        var chats: [MirrorWork] = []
        runner?.tell { bridge, now in
            for observation in observations {
                switch observation {
                case .signal(let signal):
                    guard !bridge.agentSays(signal, at: now) else { continue }
                    if let work = mirror(signal, on: &bridge, at: now) { chats.append(work) }
                case .sendAnswered(let run, let answer):
                    bridge.sendAnswered(answer, run: run, at: now)
                case .filesLeftOut(let run, let files): bridge.filesLeftOut(files, of: run, at: now)
                case .conversationLost(let run): bridge.conversationLost(of: run, at: now)
                case .told(let run, let line): bridge.told(line, of: run, at: now)
                case .modelAnswered(let run, let choice, let answer):
                    bridge.modelAnswered(choice, answer, of: run, at: now)
                case .levelAnswered(let run, let choice, let answer):
                    bridge.levelAnswered(choice, answer, of: run, at: now)
                case .abortAnswered(let run): bridge.abortAnswered(run, at: now)
                case .lookedUp(let run, let found): bridge.lookedUp(found, of: run, at: now)
                case .jobStarted(let job): mirroring.withLock { $0.jobStarted(job, at: now) }
                case .jobFinished(let job): mirroring.withLock { $0.jobFinished(job) }
                case .linkLost:
                    mirroring.withLock { $0.linkLost() }
                    bridge.agentLost(at: now)
                case .linkBack: bridge.agentBack(at: now)
                case .prompt, .stopSent, .decisionSent, .answerSent: break
                }
            }
        }
        for work in chats { carryOut(work) }
        if observations.contains(where: \.concernsAsks) { notices?.look() }
        tellOfCrowd()
        let isDue = condition.withLock { state in
            state.observed &+= 1
            return state.observed & 15 == 0
        }
        if isDue { heedMemory() }
    }
}
