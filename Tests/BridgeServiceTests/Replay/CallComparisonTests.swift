import BridgeService
import Testing

@Suite("Calls compared with a golden file")
struct CallComparisonTests {
    private static let golden = [
        #"40 sendMessage {"session_id":"ses_1","interaction_id":"int_1","text":" ","idempotency_key":"int_1-open"}"#,
        #"50 sendMessageDelta {"message_id":"msg_2","delta":"He","idempotency_key":"int_1-d1-1"}"#,
        #"60 sendMessageDelta {"message_id":"msg_2","delta":"llo","idempotency_key":"int_1-d1-2"}"#,
        #"70 createTask {"session_id":"ses_1","task_id":"t","args":{"b":1,"a":[true,null]},"idempotency_key":"int_1-t-x-start"}"#,
        #"75 updateTask {"session_id":"ses_1","task_id":"t","idempotency_key":"int_1-t-x-u1x1"}"#,
        #"80 finishTask {"session_id":"ses_1","task_id":"t","status":"completed","idempotency_key":"int_1-t-x-end"}"#,
        #"90 sendMessageEnd {"message_id":"msg_2","text":"Hello","idempotency_key":"int_1-end"}"#,
    ]
    /// The same at a relay with other names, by a turn without an interaction.
    private static let found = [
        #"sendMessage {"session_id":"s-9","text":" ","idempotency_key":"run-77-open"}"#,
        #"sendMessageDelta {"message_id":"m-4","delta":"Hello","idempotency_key":"run-77-d1-1"}"#,
        #"createTask {"session_id":"s-9","task_id":"t","args":{"a":[true,null],"b":1},"idempotency_key":"run-77-t-x-start"}"#,
        #"finishTask {"session_id":"s-9","task_id":"t","status":"completed","idempotency_key":"run-77-t-x-end"}"#,
        #"sendMessageEnd {"message_id":"m-4","text":"Hello","idempotency_key":"run-77-end"}"#,
    ]

    private static func differences(_ found: [String]) -> [String] {
        CallComparison(expected: golden, found: found).differences
    }

    @Test("names, times, cuts of text and progress may differ")
    func equal() {
        let comparison = CallComparison(expected: Self.golden, found: Self.found)
        #expect(comparison.differences == [])
        #expect(comparison.count == 5)
    }

    @Test("another text, a missing call, one too many and another order are told, each by its turn")
    func different() {
        var other = Self.found
        other[1] = other[1].replacing("Hello", with: "Hullo")
        #expect(
            Self.differences(other) == [
                #"turn 1: 2: - sendMessageDelta "Hello""#, #"turn 1: 2: + sendMessageDelta "Hullo""#,
            ])
        var missing = Self.found
        missing.remove(at: 3)
        #expect(Self.differences(missing).count == 1)
        #expect(Self.differences(missing).first?.hasPrefix("turn 1: 4: - finishTask ") == true)
        #expect(Self.differences(Self.found + [Self.found[4].replacing("run-77", with: "run-78")]).count == 1)
        var swapped = Self.found
        swapped.swapAt(2, 3)
        #expect(Self.differences(swapped).count == 2)
        #expect(!Self.differences([]).isEmpty)
    }

    @Test("text on either side of a card is not joined over it")
    func cards() {
        var split = Self.found
        split[1] = split[1].replacing("Hello", with: "He")
        split.insert(#"sendMessageDelta {"message_id":"m-4","delta":"llo","idempotency_key":"run-77-d1-2"}"#, at: 3)
        #expect(Self.differences(split).count == 3)
    }

    @Test("turns that overlap are told apart by their keys")
    func overlap() {
        func turn(_ name: String) -> [String] { Self.found.map { $0.replacing("run-77", with: name) } }
        let mixed = zip(turn("a"), turn("b")).flatMap { [$0, $1] }
        let expected = Self.golden + Self.golden.map { $0.replacing("int_1", with: "int_2") }
        #expect(CallComparison(expected: expected, found: mixed).differences == [])
    }

    @Test("what is no JSON is compared as it is")
    func broken() { #expect(CallComparison(expected: ["1 x {"], found: ["x {"]).differences == []) }
}
