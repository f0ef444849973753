/// Lines of pi's standard output (pi.md).
enum PiSays {
    static let started = #"{"type":"agent_start"}"#
    static let ended = #"{"type":"agent_end","messages":[]}"#

    static func state(_ id: Int, _ more: String) -> String {
        #"{"id":"sb-\#(id)","type":"response","command":"get_state","success":true,"data":{\#(more)}}"#
    }
    static func messages(_ id: Int, _ messages: String) -> String {
        #"{"id":"sb-\#(id)","type":"response","command":"get_messages","success":true,"data":{"messages":\#(messages)}}"#
    }
    static func accepted(_ id: Int) -> String {
        #"{"id":"sb-\#(id)","type":"response","command":"prompt","success":true}"#
    }
    static func said(_ text: String, stop: String = "stop") -> String {
        #"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"\#(text)"}],"stopReason":"\#(stop)"}}"#
    }
}
