import Testing
import Vocabulary

@testable import Claude

@Suite("Text of Claude Code")
struct ClaudeTextTests {
    private var talk = ClaudeTalk()

    private mutating func hears(_ lines: String...) -> [String] {
        lines.flatMap { talk.hears($0) }.map { $0.replacing("run claude ", with: "") }
    }

    private mutating func begin() { _ = talk.begins() }

    @Test("deltas are previews of the block's frame")
    mutating func preview() {
        begin()
        #expect(
            hears(ClaudeSays.starts("m1"), ClaudeSays.delta("Hel"), ClaudeSays.delta("lo"), ClaudeSays.said("Hello"))
                == [#"append "Hel""#, #"append "lo""#])
        #expect(hears(ClaudeSays.stops, ClaudeSays.done).first == #"segment ended "Hello""#)
    }

    @Test("the frame counts where it differs from its deltas")
    mutating func differs() {
        begin()
        #expect(
            hears(ClaudeSays.starts("m1"), ClaudeSays.delta("Helo"), ClaudeSays.said("Hello"))
                == [#"append "Helo""#, #"replaced "Hello""#])
    }

    @Test("a message that is not streamed is text all the same")
    mutating func fallback() {
        begin()
        #expect(
            hears(ClaudeSays.starts("m1"), ClaudeSays.stops, ClaudeSays.said("Lilies.", "m2"), ClaudeSays.done)
                == [#"append "Lilies.""#, #"segment ended "Lilies.""#, "finished stop run -"])
    }

    @Test("a block that is cut leaves no trace, and comes again")
    mutating func cutInside() {
        begin()
        let retry = ClaudeSays.system("api_retry", #""attempt":1,"error_status":null,"error":"unknown""#)
        #expect(
            hears(ClaudeSays.starts("m1"), ClaudeSays.delta("Lettuce in"), ClaudeSays.stops)
                == [#"append "Lettuce in""#, #"segment ended """#])
        #expect(hears(retry) == [#"retrying "unknown""#, "started"])
        #expect(
            hears(
                ClaudeSays.starts("m2"), ClaudeSays.delta("Lettuce."), ClaudeSays.said("Lettuce.", "m2"),
                ClaudeSays.done)
                == [#"append "Lettuce.""#, #"segment ended "Lettuce.""#, "finished stop run -"])
    }

    @Test("what is finished stays when a later block is cut and tried again")
    mutating func cutLater() {
        begin()
        _ = hears(ClaudeSays.starts("m1"), ClaudeSays.delta("One."), ClaudeSays.said("One."), ClaudeSays.stops)
        #expect(
            hears(ClaudeSays.starts("m2"), ClaudeSays.delta("Tw"), ClaudeSays.stops)
                == [#"segment ended "One.""#, #"append "Tw""#, #"segment ended """#])
        #expect(hears(ClaudeSays.system("api_retry", #""error_status":529,"error":"overloaded""#)) == [])
    }

    @Test(
        "text that was cut is continued without a separator",
        arguments: ["Your response above was cut off mid-stream. Resume", "Output token limit hit. Resume"])
    mutating func continued(nudge: String) {
        begin()
        _ = hears(ClaudeSays.starts("m1"), ClaudeSays.delta("Onions "), ClaudeSays.said("Onions "), ClaudeSays.stops)
        #expect(hears(ClaudeSays.nudge(nudge), ClaudeSays.starts("m2")) == [])
        // The continuation breaks off within a block as well.
        #expect(
            hears(ClaudeSays.delta("le"), ClaudeSays.stops, ClaudeSays.starts("m3"))
                == [#"append "le""#, #"replaced "Onions ""#])
        #expect(
            hears(ClaudeSays.delta("leeks"), ClaudeSays.said("leeks", "m3"), ClaudeSays.done).suffix(2)
                == [#"segment ended "Onions leeks""#, "finished stop run -"])
    }

    @Test("text blocks of one message that follow each other are one segment, others are not")
    mutating func blocks() {
        begin()
        #expect(
            hears(ClaudeSays.said("A"), ClaudeSays.said("B"), ClaudeSays.said("C", "m2"), ClaudeSays.done) == [
                #"append "A""#, #"append "B""#, #"segment ended "AB""#, #"append "C""#, #"segment ended "C""#,
                "finished stop run -",
            ])
        begin()
        let thinking = ClaudeSays.block(#"{"type":"thinking","thinking":"","signature":"x"}"#)
        #expect(
            hears(ClaudeSays.said("A"), thinking, ClaudeSays.said("B"), ClaudeSays.done).filter {
                $0.hasPrefix("segment")
            } == [#"segment ended "A""#, #"segment ended "B""#])
    }

    @Test("a message that was refused is taken back, whole")
    mutating func refused() {
        begin()
        _ = hears(ClaudeSays.said("One.", "m1"), ClaudeSays.starts("m2"), ClaudeSays.said("Bad.", "m2"))
        let refusal = ClaudeSays.nudge("Try again.", #","refused_message_id":"m2""#)
        #expect(hears(refusal) == [#"segment ended """#])
        _ = hears(ClaudeSays.said("Worse.", "m3"), ClaudeSays.calls("Bash", "{}"))
        #expect(
            hears(ClaudeSays.nudge("Try again.", #","refused_message_id":"m3""#))
                == [#"snapshot "One.""#, "segment ended -"])
        let end = ClaudeSays.result(
            #""terminal_reason":"api_error","stop_reason":"refusal","result":"No.""#, isError: true)
        #expect(hears(end) == [#"failed refusal "No.""#])
    }

    @Test("what the process says itself is no text of the model, and ends no turn")
    mutating func synthetic() {
        begin()
        let said = ClaudeSays.said("API Error").replacing("m-1", with: "<synthetic>")
        let marked = ClaudeSays.block(#"{"type":"text","text":"x"}"#, more: #","is_api_error_message":true"#)
        #expect(hears(said, marked) == [])
        #expect(hears(ClaudeSays.done) == ["finished stop run -"])
    }

    @Test("words of a helper, and deltas of one, are not the turn's")
    mutating func helper() {
        begin()
        let delta = ClaudeSays.event(
            #"{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}"#, parent: #""t9""#)
        #expect(hears(delta, ClaudeSays.said("Mine.", parent: #""t9""#)) == [])
    }

    @Test("a preview that nothing confirmed stays when the turn ends")
    mutating func unconfirmed() {
        begin()
        #expect(
            hears(
                ClaudeSays.starts("m1"), ClaudeSays.delta("Hal"),
                ClaudeSays.result(#""terminal_reason":"aborted_streaming""#))
                == [#"append "Hal""#, #"segment ended "Hal""#, "finished aborted run -"])
    }

    @Test("the result's text counts where the turn had none: a command")
    mutating func command() {
        begin()
        #expect(hears(ClaudeSays.result(#""result":"Cost: 0""#)) == [#"finished stop run "Cost: 0""#])
        begin()
        #expect(hears(ClaudeSays.said("Yes."), ClaudeSays.result(#""result":"Yes.""#)).last == "finished stop run -")
    }
}
