import AgentKit
import Testing
import Vocabulary

@Suite("A phone's level of thought at pi")
struct PiLevelTests {
    private static func answer(_ id: Int, _ command: String, _ outcome: String) -> String {
        #"{"id":"sb-\#(id)","type":"response","command":"\#(command)",\#(outcome)}"#
    }

    private static func words(_ id: Int, _ words: String) -> String {
        answer(id, "get_available_thinking_levels", #""success":true,"data":{"levels":[\#(words)]}"#)
    }

    private static func isSet(_ id: Int) -> String { answer(id, "set_thinking_level", #""success":true"#) }

    /// The process thinks at this level.
    private static func ready(_ level: String? = "low") -> PiConversation {
        var pi = PiConversation()
        _ = pi.looksUp("none")
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1""# + (level.map { #","thinkingLevel":"\#($0)""# } ?? "")))
        _ = pi.keeps()
        _ = pi.says(PiSays.messages(2, "[]"))
        return pi
    }

    @Test("the later line says what its model has", arguments: [(ThoughtLevel.extended, "high"), (.max, "xhigh")])
    func later(_ level: ThoughtLevel, _ word: String) {
        var pi = Self.ready()
        #expect(
            pi.sends("r1", "one", level: .level(level)) == [
                #"1 > {"type":"get_available_thinking_levels","id":"sb-3"}"#
            ])
        #expect(
            pi.says(Self.words(3, #""off","minimal","low","medium","high","xhigh""#)) == [
                #"1 > {"type":"set_thinking_level","id":"sb-4","level":"\#(word)"}"#
            ])
        let lines = pi.says(Self.isSet(4))
        let said = #"r1 thinks at \#(LevelChoice.level(level)): set(before: Optional("low"), instead: nil)"#
        #expect(lines.first == said)
        #expect(lines.last?.contains(#""type":"prompt""#) == true)
        _ = pi.says(PiSays.accepted(5))
        _ = pi.says(PiSays.started)
        _ = pi.says(PiSays.ended)
        _ = pi.waits(250)
        #expect(pi.sends("r2", "two", level: .level(level)).last?.contains(#""type":"prompt""#) == true, "it has it")
        _ = pi.says(PiSays.accepted(6))
        _ = pi.says(PiSays.started)
        _ = pi.says(PiSays.ended)
        _ = pi.waits(250)
        #expect(
            pi.sends("r3", "three", level: .own("low")).last
                == #"1 > {"type":"set_thinking_level","id":"sb-7","level":"low"}"#)
    }

    @Test("the base line has no list, and takes a lower level without a word: its state says which")
    func base() {
        var pi = Self.ready()
        _ = pi.sends("r1", "one", level: .level(.extended))
        let unknown =
            #"{"type":"response","command":"get_available_thinking_levels","success":false,"error":"Unknown command"}"#
        #expect(pi.says(unknown) == [#"1 > {"type":"set_thinking_level","id":"sb-4","level":"high"}"#])
        #expect(pi.says(Self.isSet(4)) == [#"1 > {"type":"get_state","id":"sb-5"}"#])
        let lines = pi.says(PiSays.state(5, #""thinkingLevel":"off""#))
        #expect(lines.first?.hasSuffix(#"set(before: Optional("low"), instead: Optional("off"))"#) == true, "\(lines)")
        #expect(lines.last?.contains(#""type":"prompt""#) == true)
    }

    @Test("a level that the model lacks is the next lower one")
    func lower() {
        var pi = Self.ready()
        _ = pi.sends("r1", "one", level: .level(.extended))
        #expect(pi.says(Self.words(3, #""off","low","medium","xhigh""#)).last?.contains(#""level":"medium""#) == true)
        #expect(pi.says(Self.isSet(4)).first?.hasSuffix(#"instead: Optional("medium"))"#) == true)
    }

    @Test("a refusal, and no answer, hold up no prompt", arguments: [true, false])
    func refused(isAnswered: Bool) {
        var pi = Self.ready()
        _ = pi.sends("r1", "one", level: .level(.max))
        _ = pi.says(Self.words(3, #""low","high""#))
        let lines =
            isAnswered
            ? pi.says(Self.answer(4, "set_thinking_level", #""success":false,"error":"no""#)) : pi.waits(30_000)
        #expect(lines.contains { $0.hasPrefix("r1 thinks at") && $0.contains(isAnswered ? "refused" : "unsettled") })
        #expect(lines.last?.contains(#""type":"prompt""#) == true)
    }

    @Test("a process that ends over the level twice gets the prompt without it")
    func ends() {
        var pi = Self.ready()
        _ = pi.sends("r1", "one", level: .level(.max))
        _ = pi.exits()
        _ = pi.spawns(2)
        let state = #""sessionFile":"/s/1""#
        #expect(pi.says(PiSays.state(4, state), 2).last?.contains("get_available_thinking_levels") == true)
        #expect(pi.exits(1, words: "", 2).contains { $0.contains("pi ended when it was asked for it") })
        _ = pi.spawns(3)
        #expect(pi.says(PiSays.state(6, state), 3).last?.contains(#""type":"prompt""#) == true)
    }

    @Test("another model may lack the level: it is looked at again")
    func model() {
        var pi = Self.ready()
        _ = pi.sends("r1", "one", choice: .named("acme/big"), level: .level(.max))
        let lines = pi.says(
            Self.answer(3, "set_model", #""success":true,"data":{"provider":"acme","id":"big"}"#))
        #expect(lines.last == #"1 > {"type":"get_state","id":"sb-4"}"#)
        #expect(
            pi.says(PiSays.state(4, #""thinkingLevel":"off""#)).last?.contains("get_available_thinking_levels") == true)
    }
}
