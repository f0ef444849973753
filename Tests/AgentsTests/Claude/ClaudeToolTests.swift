import Testing
import Vocabulary

@testable import Claude

@Suite("Tools of Claude Code, and how its turns end")
struct ClaudeToolTests {
    private var talk = ClaudeTalk()

    private mutating func hears(_ lines: String...) -> [String] {
        lines.flatMap { talk.hears($0) }.map { $0.replacing("run claude ", with: "") }
    }

    private mutating func begin() { _ = talk.begins() }

    @Test("a call begins with its frame and ends with its result")
    mutating func call() {
        begin()
        #expect(
            hears(ClaudeSays.calls("Read", #"{"file_path":"/a/b"}"#)) == [
                #"tool started t1 call Read title="Read file_path=/a/b" arguments={"file_path":"/a/b"} reads /a/b"#
            ])
        #expect(
            hears(ClaudeSays.returns("no", error: true)) == [
                #"tool finished t1 call Read failed result="no" error="no""#
            ])
        #expect(hears(ClaudeSays.returns("again")) == [])
    }

    @Test("a call that an interrupt ended is cancelled, one that a person declined has failed")
    mutating func rejected() {
        begin()
        _ = hears(ClaudeSays.calls("Bash", "{}"), ClaudeSays.calls("Bash", "{}", id: "t2"))
        let stopped = ClaudeSays.returns("x", error: true, meta: #","non_execution_kind":"user-rejected""#)
        let declined = ClaudeSays.returns("x", id: "t2", error: true, meta: #","non_execution_kind":"permission-rule""#)
        #expect(hears(stopped).first?.contains("cancelled") == true)
        #expect(hears(declined).first?.contains("failed") == true)
    }

    @Test("a notebook is a file that is edited")
    mutating func notebook() {
        begin()
        #expect(
            hears(ClaudeSays.calls("NotebookEdit", #"{"notebook_path":"/n.ipynb"}"#)).first?.hasSuffix("edits /n.ipynb")
                == true)
    }

    @Test("a long call says how long it takes, and its parent there is the call itself")
    mutating func heartbeat() {
        begin()
        _ = hears(ClaudeSays.calls("Bash", #"{"command":"make"}"#))
        let beat =
            #"{"type":"tool_progress","tool_use_id":"t1-heartbeat-1","parent_tool_use_id":"t1","tool_name":"Bash","elapsed_time_seconds":30.4,"session_id":"s-1","uuid":"f"}"#
        #expect(hears(beat) == [#"tool progress t1 call title="Bash command=make, 30 s""#])
        #expect(hears(beat.replacing(#":"t1","#, with: #":"t9","#)) == [])
    }

    @Test("what a helper does is progress of its card, also what its own helper does")
    mutating func helper() {
        begin()
        _ = hears(ClaudeSays.calls("Task", #"{"prompt":"x"}"#))
        #expect(
            hears(ClaudeSays.calls("Bash", #"{"command":"ls"}"#, id: "t2", parent: #""t1""#))
                == [#"tool progress t1 call title="Task: Bash command=ls""#])
        #expect(
            hears(ClaudeSays.calls("Agent", "{}", id: "t3", parent: #""t2""#))
                == [#"tool progress t1 call title="Task: Agent""#])
        #expect(hears(ClaudeSays.returns("done", id: "t2", parent: #""t1""#)) == [])
        let progress = ClaudeSays.system("task_progress", #""tool_use_id":"t1","description":"Counting beds""#)
        #expect(hears(progress) == [#"tool progress t1 call title="Task: Counting beds""#])
        _ = hears(ClaudeSays.returns("three"))
        #expect(hears(progress) == [])
    }

    @Test("a background helper's frames between turns begin nothing")
    mutating func background() {
        #expect(hears(ClaudeSays.calls("Bash", "{}", parent: #""t1""#), ClaudeSays.said("x", parent: #""t1""#)) == [])
        #expect(talk.decoder.isFree && talk.decoder.unknown.total == 0)
    }

    @Test(
        "the reason of the end comes before the error, and that before the kind",
        arguments: [
            (
                #""terminal_reason":"aborted_tools","errors":["[ede_diagnostic] x"]"#, "error_during_execution", true,
                "finished aborted run -"
            ),
            (#""terminal_reason":"aborted_streaming","result":"par""#, "success", false, "finished aborted run -"),
            (#""terminal_reason":"completed","stop_reason":"max_tokens""#, "success", false, "finished length run -"),
            (
                #""terminal_reason":"prompt_too_long","result":"Prompt is too long""#, "success", true,
                #"failed contextLength "Prompt is too long""#
            ),
            (
                #""terminal_reason":"max_turns""#, "error_max_turns", true,
                #"failed other "Claude Code stopped at its limit of steps (--max-turns).""#
            ),
            (
                #""errors":["[ede_diagnostic] a","No room","No light"]"#, "error_during_execution", true,
                #"failed other "No room / No light""#
            ),
            (
                #""terminal_reason":"turn_setup_failed""#, "error_during_execution", true,
                #"failed other "Claude Code gave up (turn_setup_failed).""#
            ),
            (
                #""terminal_reason":"api_error","api_error_status":529,"result":"Busy.""#, "success", true,
                #"failed rateLimit "The servers of the model are overloaded. It says: Busy.""#
            ),
            (
                #""terminal_reason":"api_error","api_error_status":429,"result":"You've hit it""#, "success", true,
                #"failed rateLimit "You've hit it""#
            ),
            (
                #""terminal_reason":"api_error","api_error_status":402,"result":"x""#, "success", true,
                #"failed other "The account that Claude Code uses has no credit left. It says: x""#
            ),
            ("", "success", false, "finished stop run -"),
        ])
    mutating func ends(members: String, subtype: String, isError: Bool, line: String) {
        begin()
        #expect(hears(ClaudeSays.result(members, subtype, isError: isError)) == [line])
    }

    @Test("the word of the failed message counts where there is no status")
    mutating func words() {
        for (word, part) in [
            ("authentication_failed", "type /login"), ("billing_error", "no credit"), ("rate_limit", "rateLimit"),
        ] {
            begin()
            let said = ClaudeSays.block(
                #"{"type":"text","text":"x"}"#, more: #","is_api_error_message":true,"error":"\#(word)""#)
            let end = ClaudeSays.result(
                #""terminal_reason":"api_error","api_error_status":null,"result":"x""#, isError: true)
            #expect(hears(said, end).first?.contains(part) == true, "\(word)")
        }
    }

    @Test("a failure of the engine behind our interrupt is the stop, where no reason is given")
    mutating func earlyStop() {
        begin()
        talk.decoder.willInterrupt()
        #expect(hears(ClaudeSays.result("", "error_during_execution", isError: true)) == ["finished aborted run -"])
        begin()
        #expect(
            hears(ClaudeSays.result("", "error_during_execution", isError: true)).first?.hasPrefix("failed") == true)
    }

    @Test("the first retry of a refused login fails the run and asks for an interrupt, once", arguments: [401, 403])
    mutating func login(status: Int) {
        begin()
        let retry = ClaudeSays.system(
            "api_retry", #""attempt":1,"error_status":\#(status),"error":"authentication_failed""#)
        let lines = hears(retry)
        #expect(lines.count == 1 && lines[0].hasPrefix("failed noLogin") && lines[0].contains("/login"))
        let isDue = [talk.decoder.mustInterrupt, talk.decoder.mustInterrupt]
        #expect(isDue == [true, false] && !talk.decoder.isFree)
        #expect(hears(retry, ClaudeSays.said("late"), ClaudeSays.calls("Bash", "{}")) == [])
        #expect(hears(ClaudeSays.result(#""terminal_reason":"aborted_streaming""#, isError: true)) == [])
        #expect(talk.decoder.isFree)
        #expect(talk.begins("b", "u2").last == "b claude started")
    }

    @Test("usage is that of the turn, helpers and caches included")
    mutating func usage() {
        begin()
        let models =
            #""total_cost_usd":9,"model_usage_since_last_result":{"a":{"inputTokens":1,"cacheReadInputTokens":20,"cacheCreationInputTokens":300,"outputTokens":4,"costUSD":0.5},"b":{"inputTokens":1000,"outputTokens":1,"costUSD":0.25}}"#
        #expect(hears(ClaudeSays.result(models)) == [#"finished stop run - tokens=1321+5 cost=750000e-6 model="m-1""#])
    }

    @Test("an earlier version counts the cost of all turns: that of the first is not known")
    mutating func earlyUsage() {
        func end(_ total: String) -> String {
            ClaudeSays.result(
                #""total_cost_usd":\#(total),"usage":{"input_tokens":1,"cache_read_input_tokens":2,"output_tokens":3}"#)
        }
        begin()
        #expect(hears(end("4.5")) == [#"finished stop run - tokens=3+3 model="m-1""#])
        _ = talk.begins("run", "u2")
        #expect(hears(end("4.75")) == [#"finished stop run - tokens=3+3 cost=250000e-6 model="m-1""#])
    }

    @Test("numbers beyond every measure are not counted with")
    mutating func hostile() {
        begin()
        let huge = "9223372036854775807"
        let models =
            #""total_cost_usd":1e300,"model_usage_since_last_result":{"a":{"inputTokens":\#(huge),"cacheReadInputTokens":-5,"outputTokens":\#(huge),"costUSD":1e300}},"api_error_status":\#(huge)"#
        #expect(hears(ClaudeSays.result(models)) == [#"finished stop run - tokens=0+0 model="m-1""#])
        let limit =
            #"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":\#(huge),"utilization":1e300},"session_id":"s","uuid":"f"}"#
        _ = hears(limit)
        #expect(talk.decoder.takeLimit()?.words == "Claude Code is at its usage limit")
    }

    @Test("a limit that is near or reached is news, once; one that is far is none")
    mutating func limits() {
        func limit(_ info: String) -> String {
            #"{"type":"rate_limit_event","rate_limit_info":{\#(info)},"session_id":"s","uuid":"f"}"#
        }
        #expect(hears(limit(#""status":"allowed""#)) == [] && talk.decoder.takeLimit() == nil)
        _ = hears(limit(#""status":"rejected","resetsAt":1795453695,"rateLimitType":"five_hour""#))
        #expect(
            talk.decoder.takeLimit()?.words == "Claude Code is at its five hour limit, which resets at 17:08 UTC")
        #expect(talk.decoder.takeLimit() == nil)
        _ = hears(limit(#""status":"allowed_warning","rateLimitType":"seven_day","utilization":0.9"#))
        #expect(talk.decoder.takeLimit()?.words == "Claude Code is near its seven day limit")
        _ = hears(limit(#""status":"allowed_warning","rateLimitType":"seven_day","utilization":0.91"#))
        #expect(talk.decoder.takeLimit() == nil)
        _ = hears(limit(#""status":"rejected","rateLimitType":"seven_day","utilization":1"#))
        #expect(talk.decoder.takeLimit()?.words == "Claude Code is at its seven day limit")
    }

    @Test("a question that is withdrawn was stopped, or the result of its call says who decided")
    mutating func withdrawn() {
        func cancel(_ id: String) -> String { #"{"type":"control_cancel_request","request_id":"\#(id)"}"# }
        begin()
        _ = hears(ClaudeSays.calls("Bash", "{}"), ClaudeSays.asks("Bash", #"{"command":"ls"}"#))
        #expect(hears(cancel("r1")) == [])
        let accepted = ClaudeSays.returns("ok", meta: #","permission_decision":{"decision":"accept","source":"hook"}"#)
        #expect(
            hears(accepted).first == #"approval settled r1 decided(Vocabulary.ApprovalDecision.approve) by="a hook""#)
        _ = hears(
            ClaudeSays.calls("Bash", "{}", id: "t2"),
            ClaudeSays.asks("Bash", #"{"command":"ls"}"#, id: "r2", call: "t2"))
        #expect(hears(cancel("r2"), ClaudeSays.done).first == "approval settled r2 cancelled")
        _ = talk.begins("run", "u2")
        _ = hears(ClaudeSays.asks("Bash", #"{"command":"ls"}"#, id: "r3", call: "t3"))
        talk.decoder.willInterrupt()
        #expect(hears(cancel("r3")) == ["approval settled r3 cancelled"])
        #expect(hears(cancel("r3")) == [])
        _ = hears(ClaudeSays.asks("ExitPlanMode", "{}", id: "r4", call: "t4"))
        #expect(hears(cancel("r4")) == ["question settled r4 cancelled"])
    }
}
