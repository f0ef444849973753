import BridgeModel

// Questions that yes and no do not answer.
extension Turn {
    mutating func asked(_ question: Question) -> [TurnOrder] {
        let declined = TurnOrder.command(
            .answer(question: question.id, session: opening.agentSession, answer: .declined))
        return [declined] + (agent.isStopping ? [] : say(Sentences.questionImpossible(question.title)))
    }
}
