import AgentKit
import JSONReading
import Testing
import Vocabulary

@testable import Claude

@Suite("What Claude Code asks, and what it is answered")
struct ClaudeAskTests {
    private static let suggestion =
        #"{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git push *"}],"behavior":"allow","destination":"localSettings"}"#
    private static let mode = #"{"type":"setMode","mode":"acceptEdits","destination":"session"}"#

    private static func suggesting(_ list: String) -> String { #","permission_suggestions":[\#(list)]"# }

    private func ask(_ frame: String) throws -> ClaudeAsk {
        try withFrame(frame) { root, bytes in try #require(ClaudeAsk(root, frame: bytes)) }
    }

    private func card(_ tool: String, _ input: String, _ more: String = "") throws -> ApprovalRequest {
        let ask = try ask(ClaudeSays.asks(tool, input, more))
        guard case .approval(let request) = ask.content else { throw NoFrame(text: tool) }
        return request
    }

    private func questions(_ ask: ClaudeAsk) -> [Question] {
        if case .questions(let questions) = ask.content { questions } else { [] }
    }

    private func answer(_ verdict: ClaudeVerdict, _ slip: ClaudeSlip) -> String {
        String(decoding: verdict.frame(for: slip), as: UTF8.self)
    }

    private static func success(_ answer: String, _ id: String = "r1") -> String {
        #"{"type":"control_response","response":{"subtype":"success","request_id":"\#(id)","response":\#(answer)}}"#
    }

    // MARK: Cards

    @Test("a command is on its card whole, with all that the model says beside it")
    func command() throws {
        let card = try card(
            "Bash", #"{"command":"git push","description":"Push it","timeout":5,"dangerouslyDisableSandbox":true}"#,
            #","description":"Push it","decision_reason":"\u001b[1mRule\u001b[0m says ask","agent_id":"a-1","newcomer":{"x":1}"#
                + Self.suggesting(Self.suggestion + "," + Self.mode))
        #expect(card.subject == .exec && card.command == "git push" && card.title == "Run a command?")
        #expect(card.call == ToolCallID("t1") && card.allowed == nil && card.facts.leavesSandbox)
        #expect(
            card.facts.lines.map { "\($0.label): \($0.value)" } == [
                "input.description: Push it", "input.timeout: 5", "input.dangerouslyDisableSandbox: true",
                "reason: Rule says ask", "agent: a-1", #"newcomer: {"x":1}"#,
                "Always, until its process ends: Bash(git push *)",
            ])
    }

    @Test("an edit shows what goes and what comes, a new file all of it")
    func edits() throws {
        let edit = try card(
            "Edit", #"{"file_path":"/w/a.txt","old_string":"one\ntwo","new_string":"+two\n","replace_all":false}"#,
            #","description":"a.txt""# + Self.suggesting(Self.mode))
        #expect(edit.subject == .permission && edit.message == "-one\n-two\n++two\n+" && edit.command == nil)
        #expect(edit.facts.paths == ["/w/a.txt"] && edit.allowed == nil)
        #expect(
            edit.facts.lines.map { "\($0.label): \($0.value)" } == [
                "file: /w/a.txt",
                "Always, until its process ends: all edits in this folder, those by > in commands too",
            ])
        let all = try card(
            "Edit", #"{"file_path":"/w/a.txt","old_string":"a","new_string":"","replace_all":true,"more":"x"}"#)
        #expect(all.message == "-a" && all.facts.lines.map(\.label).contains("input.replace_all"))
        #expect(all.facts.lines.map(\.label).contains("input.more"))
        #expect(try card("Write", #"{"file_path":"a","content":"x\ny"}"#).message == "+x\n+y")
        #expect(try card("Write", #"{"file_path":"a","content":""}"#).message == "The file becomes empty.")
    }

    @Test(
        "an input of another shape is shown as it came",
        arguments: [
            ("Edit", #"{"file_path":"/a","old_string":"a","old_string":"b","new_string":"c"}"#), ("Edit", #"{"x":1}"#),
            ("Write", #"{"file_path":"/a","content":7}"#), ("Bash", #"{"cmd":"ls"}"#),
            ("NotebookEdit", #"{"notebook_path":"/n","new_source":"x"}"#), ("Bash", "[1]"),
        ])
    func shapes(tool: String, input: String) throws {
        let card = try card(tool, input)
        #expect(card.subject == .permission && card.command == input)
    }

    @Test("nothing says what a tool would be given: it can only be denied")
    func noInput() throws {
        #expect(try card("Bash", "null").isIncomplete)
        #expect(try !card("Bash", "{}").isIncomplete)
    }

    @Test(
        "an always is offered where there is a rule for it",
        arguments: [
            ("Bash", suggesting(suggestion), true), ("Bash", suggesting(""), false), ("Bash", "", false),
            ("Bash", suggesting(mode), false), ("Edit", suggesting(mode), true), ("Write", suggesting(mode), true),
            ("NotebookEdit", suggesting(mode), true), ("Edit", suggesting(""), false),
            ("Write", suggesting(mode) + #","decision_reason_type":"safetyCheck""#, false),
            ("Bash", suggesting(suggestion) + #","decision_reason_type":"safetyCheck""#, false),
            // A file outside the folder.
            ("Write", suggesting(mode) + #","decision_reason_type":"workingDir""#, false),
            (
                "Write", suggesting(mode + #",{"type":"addDirectories","directories":["/x"],"destination":"session"}"#),
                false
            ),
            // The rule would allow every command.
            ("Bash", suggesting(#"{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow"}"#), false),
            (
                "Bash",
                suggesting(#"{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"a"}],"behavior":"deny"}"#),
                false
            ),
            ("Bash", suggesting(#"{"type":"addRules","rules":[],"behavior":"allow"}"#), false),
            (
                "WebSearch", suggesting(#"{"type":"addRules","rules":[{"toolName":"WebSearch"}],"behavior":"allow"}"#),
                true
            ),
        ])
    func always(tool: String, more: String, isOffered: Bool) throws {
        let ask = try ask(ClaudeSays.asks(tool, "{}", more))
        guard case .approval(let request) = ask.content else { throw NoFrame(text: tool) }
        #expect(ask.slip.always.isEmpty != isOffered)
        #expect(request.allowed == (isOffered ? nil : [.approve, .deny]))
        #expect(request.facts.lines.contains { $0.label.hasPrefix("Always") } == isOffered)
    }

    @Test(
        "escapes that colour a terminal are left out",
        arguments: [
            ("\u{1B}[1;31mred\u{1B}[0m", "red"), ("a\u{1B}]8;;http://x\u{07}b\u{1B}]0;t\u{1B}\\c", "abc"),
            ("\u{1B}", ""), ("\u{1B}[", ""), ("\u{1B}]x", ""), ("plain", "plain"),
        ])
    func escapes(text: String, plain: String) { #expect(ClaudeCard.plain(text) == plain) }

    // MARK: Answers

    @Test("what is allowed is what runs: the bytes of the input as they came")
    func verbatim() throws {
        let input = #"{ "a" : 1.00, "b":"\u00e9\/\ud800", "input":{"x":[1,{"y":"}"}]} ,"command":"ls"}"#
        let ask = try ask(ClaudeSays.asks("Bash", input))
        #expect(ask.slip.input.text == input)
        #expect(
            answer(.allow, ask.slip) == Self.success(#"{"behavior":"allow","updatedInput":\#(input)}"#))
    }

    @Test("an always carries the rules of the process alone, in its memory alone")
    func alwaysBytes() throws {
        let bash = try ask(
            ClaudeSays.asks("Bash", #"{"command":"git push"}"#, Self.suggesting(Self.suggestion + "," + Self.mode)))
        #expect(
            answer(.allowAlways, bash.slip)
                == Self.success(
                    #"{"behavior":"allow","updatedInput":{"command":"git push"},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git push *"}],"behavior":"allow","destination":"session"}]}"#
                ))
        let write = try ask(ClaudeSays.asks("Write", "{}", Self.suggesting(Self.mode)))
        #expect(
            answer(.allowAlways, write.slip)
                == Self.success(
                    #"{"behavior":"allow","updatedInput":{},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Edit","ruleContent":"/**"}],"behavior":"allow","destination":"session"}]}"#
                ))
        let none = try ask(ClaudeSays.asks("Write", "{}"))
        #expect(answer(.allowAlways, none.slip) == Self.success(#"{"behavior":"allow","updatedInput":{}}"#))
    }

    @Test(
        "a denial says who speaks, and never ends the turn",
        arguments: [
            (ClaudeVerdict.deny(words: nil), "The user declined this call."),
            (.deny(words: " "), "The user declined this call."),
            (.deny(words: #"Use "x"."#), #"The user declined this call and says: Use \"x\"."#),
            (.unanswered, "Nobody answered in time, so this call was not allowed."),
            (.stopped, "The user stopped this run."), (.refused("No."), "No."),
            (.answers([.declined]), "The user declined this call."),
        ])
    func denials(verdict: ClaudeVerdict, message: String) throws {
        let ask = try ask(ClaudeSays.asks("Bash", "{}"))
        #expect(answer(verdict, ask.slip) == Self.success(#"{"behavior":"deny","message":"\#(message)"}"#))
    }

    @Test("requests that no person decides are answered at once")
    func others() throws {
        func answer(_ request: String) throws -> String? {
            try withFrame(#"{"type":"control_request","request_id":"r1","request":\#(request)}"#) { root, _ in
                ClaudeVerdict.answer(to: root).map { String(decoding: $0, as: UTF8.self) }
            }
        }
        #expect(try answer(#"{"subtype":"hook_callback","callback_id":"stop","input":{}}"#) == Self.success("{}"))
        for subtype in ["elicitation", "request_user_dialog", "mcp_message", "newcomer"] {
            #expect(
                try answer(#"{"subtype":"\#(subtype)"}"#)
                    == #"{"type":"control_response","response":{"subtype":"error","request_id":"r1","error":"the bridge does not carry out \#(subtype)"}}"#
            )
        }
        #expect(try answer(#"{"subtype":"can_use_tool"}"#)?.contains("error") == true)
        #expect(try answer("7")?.contains("this request") == true)
        #expect(
            try answer(#"{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{}}"#)?.contains(
                #""behavior":"deny","message":"The user was not asked"#) == true)
        #expect(try answer(#"{"subtype":"can_use_tool","tool_name":"Bash","input":{}}"#) == nil)
    }

    // MARK: Questions

    private static let two =
        #"{"questions":[{"question":"Which \"colour\"?","header":"Colour","multiSelect":false,"options":[{"label":"Green","description":"as beans","preview":"▉"},{"label":"Blue"}]},{"question":"Which beds?","header":"Beds","multiSelect":true,"options":[{"label":"North"},{"label":"South"},{"label":"East"}]}]}"#

    @Test("questions come in their order, with own words allowed")
    func asked() throws {
        let ask = try ask(ClaudeSays.asks("AskUserQuestion", Self.two, #","requires_user_interaction":true"#))
        let questions = questions(ask)
        #expect(questions.map(\.id.text) == ["r1:1", "r1:2"] && ask.slip.questions == questions.map(\.id))
        #expect(questions.map(\.title) == ["Colour", "Beds"] && questions.map(\.isMultiSelect) == [false, true])
        #expect(questions.map(\.allowsOwnWords) == [true, true])
        #expect(questions[0].message == #"Which "colour"?"# && questions[0].options[0].details == "as beans\n\n▉")
        #expect(questions[1].options.map(\.value) == ["North", "South", "East"])
    }

    @Test(
        "the answer repeats the questions as they came, and leaves out what was declined",
        arguments: [
            (
                [QuestionAnswer.choices(["Blue"]), .choices(["North", "East"])],
                #"{"Which \"colour\"?":"Blue","Which beds?":"North, East"}"#
            ),
            ([.text("None, \"thanks\""), .declined], #"{"Which \"colour\"?":"None, \"thanks\""}"#),
            ([.declined, .choices(["South"])], #"{"Which beds?":"South"}"#),
            ([.choices(["Green"])], #"{"Which \"colour\"?":"Green"}"#),
        ])
    func answers(given: [QuestionAnswer], members: String) throws {
        let ask = try ask(ClaudeSays.asks("AskUserQuestion", Self.two))
        let list = Self.two.dropFirst(#"{"questions":"#.count).dropLast()
        #expect(
            answer(.answers(given), ask.slip)
                == Self.success(#"{"behavior":"allow","updatedInput":{"questions":\#(list),"answers":\#(members)}}"#))
    }

    @Test("when all are declined the call is")
    func declined() throws {
        let ask = try ask(ClaudeSays.asks("AskUserQuestion", Self.two))
        let denial = Self.success(#"{"behavior":"deny","message":"The user declined to answer."}"#)
        #expect(answer(.answers([.declined, .declined]), ask.slip) == denial)
        #expect(answer(.answers([]), ask.slip) == denial)
    }

    @Test(
        "questions that cannot be put are denied at once",
        arguments: [
            "{}", #"{"questions":[]}"#, #"{"questions":[{"header":"x"}]}"#,
            #"{"questions":[{"question":"A?"},{"question":"A?"}]}"#,
        ])
    func unaskable(input: String) throws {
        let ask = try ask(ClaudeSays.asks("AskUserQuestion", input))
        guard case .refused(let sentence) = ask.content else { throw NoFrame(text: input) }
        #expect(sentence.hasPrefix("The user was not asked") && ask.events.isEmpty)
    }

    @Test(
        "a plan is a question, and a no keeps planning",
        arguments: [
            (QuestionAnswer.choices(["approve"]), #"{"behavior":"allow","updatedInput":{"plan":"1. Dig"}}"#),
            (
                .choices(["keep planning"]),
                #"{"behavior":"deny","message":"The user wants to keep planning: revise the plan, and ask again when it is done."}"#
            ),
            (
                .text("Not today"),
                #"{"behavior":"deny","message":"The user did not approve the plan and says: Not today"}"#
            ),
            (.declined, #"{"behavior":"deny","message":"The user did not approve the plan."}"#),
        ])
    func plan(given: QuestionAnswer, response: String) throws {
        let ask = try ask(ClaudeSays.asks("ExitPlanMode", #"{"plan":"1. Dig"}"#))
        let question = try #require(questions(ask).first)
        #expect(question.message == "1. Dig" && question.options.map(\.value) == ["approve", "keep planning"])
        #expect(question.allowsOwnWords && ask.slip.questions == [QuestionID("r1")])
        #expect(answer(.answers([given]), ask.slip) == Self.success(response))
    }

    @Test("a recording says what was decided and answered")
    func recorded() throws {
        var talk = Conversation(ClaudePlugin())
        func decides(_ answer: String) -> [String] {
            _ = talk.receives(ClaudeSays.asks("Bash", "{}"))
            return talk.sends(Self.success(answer))
        }
        #expect(decides(#"{"behavior":"allow","updatedInput":{}}"#) == ["decision sent r1 approve"])
        #expect(
            decides(#"{"behavior":"allow","updatedInput":{},"updatedPermissions":[{}]}"#)
                == ["decision sent r1 approveAlways"])
        #expect(decides(#"{"behavior":"deny","message":"x"}"#) == ["decision sent r1 deny"])
        #expect(talk.sends(Self.success(#"{"behavior":"allow"}"#)) == [])
        _ = talk.receives(ClaudeSays.asks("AskUserQuestion", Self.two))
        #expect(
            talk.sends(Self.success(#"{"behavior":"allow","updatedInput":{"answers":{"Which beds?":"North, East"}}}"#))
                == ["answer sent r1:1 declined", #"answer sent r1:2 choices(["North", "East"])"#])
        _ = talk.receives(ClaudeSays.asks("ExitPlanMode", "{}"))
        #expect(
            talk.sends(Self.success(#"{"behavior":"deny","message":"Not today"}"#))
                == [#"answer sent r1 text("Not today")"#])
    }

    @Test(
        "a value is cut out of its frame as it stands",
        arguments: [
            (#"{"a":{"b":1.0}}"#, "1.0"), (#" { "x":"\"a", "a" : { "c":[{"b":2}],"b" : "}\\" } }"#, #""}\\""#),
            (#"{"a":{"b":[1,[2,"]"]]},"z":1}"#, #"[1,[2,"]"]]"#), (#"{"a":{"b":null}}"#, "null"),
            (#"{"a":{"c":1}}"#, nil),
            (#"{"a":[1]}"#, nil), (#"{"a":"x"}"#, nil), ("[]", nil), ("{}", nil), ("", nil), (#"{"a":{"b":"x"#, nil),
        ] as [(String, String?)])
    func slices(frame: String, value: String?) {
        let bytes = Array(frame.utf8)
        #expect(bytes.withUnsafeBytes { JSONSlice.member(["a", "b"], of: $0)?.text } == value)
    }
}
