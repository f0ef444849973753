package import Vocabulary

extension RunScript {
    /// A question in the middle of a run, and the person's replies once the phone shows it.
    package struct Asking: Sendable {
        package var question: Question
        /// Replies, each with the time since the one before.
        package var replies: [(text: String, after: Duration)]
        /// Time until the agent continues without an answer.
        package var patience: Duration
        /// Time from the first reply to the person's Stop.
        package var stopsAfterReply: Duration?
    }

    static func asking(name: String, using random: inout SeededGenerator) -> RunScript {
        var script = RunScript(kind: .asking)
        script.add(.started, after: .milliseconds(Int64.random(in: 1...300, using: &random)))
        script.text(.segments, using: &random)
        let question = Question(
            id: QuestionID("que-\(name)"), title: "Which of \(name)",
            options: ["red", "blue", "none"].map { Question.Option($0) })
        let replies = random.pick([["2"], ["blue"], ["2", "1"], ["9", "2"], ["/skip"], ["purple", "9"], []])
        script.asking = Asking(
            question: question,
            replies: replies.map { ($0, .milliseconds(Int64.random(in: 0...900, using: &random))) },
            patience: .seconds(Int64.random(in: 3...9, using: &random)))
        if random.happens(0.2) {
            script.asking?.stopsAfterReply = .milliseconds(Int64.random(in: 0...40, using: &random))
        }
        script.add(.asked(question), after: .milliseconds(5))
        // Played once the question is answered or the agent's patience ends.
        script.add(.questionSettled(QuestionSettlement(id: question.id, .expired)), after: .milliseconds(50))
        script.text(.segments, using: &random)
        if random.happens(0.2) { script.stopsAfter = .milliseconds(Int64.random(in: 0...4_000, using: &random)) }
        script.finish(after: .milliseconds(Int64.random(in: 0...80, using: &random)))
        if script.asking?.stopsAfterReply != nil { script.finalText = nil }
        return script
    }
}
