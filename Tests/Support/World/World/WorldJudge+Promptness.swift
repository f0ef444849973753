import RelayRules
import Vocabulary

// Trouble of one connection must not reach another.
extension WorldJudge {
    mutating func noteWhole(_ run: WorldRun) {
        guard let index = plan.untouched else { return }
        let side = run.world.sides[index]
        for sent in side.sent where wholeAt[sent.interaction] == nil {
            if side.answers(to: sent).contains(where: \.isFinal) { wholeAt[sent.interaction] = run.world.time.now }
        }
    }

    /// An answer is complete soon after its run, whatever troubles the other connection has.
    mutating func judgePromptness(_ index: Int, _ side: WorldSide, _ run: WorldRun) {
        for message in plan.messages where message.side == index {
            guard isQuick(message),
                let sent = side.sent.first(where: { $0.text == message.text }),
                let ended = side.runEnded(sent), let whole = wholeAt[sent.interaction],
                whole - ended > .seconds(4)
            else { continue }
            violation("\(message.script.name) was whole \(whole - ended) after its run, beside a side in trouble", run)
        }
    }
}
