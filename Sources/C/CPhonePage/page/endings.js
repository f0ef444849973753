// The end of a run, as far as the page can tell. The relay reports it in `finish_reason` alone (relay.md#sendmessageend), which
// a bridge may omit after a failure or a Stop. Then the page knows the Stops that it sent itself, whose runs it stores on the
// device, and recognises a failure by the bridge's own sentence at the end of the text (Tests/TidyTests holds these to the
// bridge's). A Stop from another device leaves no trace that a page could find.

const FAILURES = [
  "The model's rate limit is reached. Please wait a little and ask again. (",
  "The model did not answer in time. Please ask again. (",
  "The conversation is too long for the model. Please begin a new chat. (",
  "The model refused to answer. Please ask in another way. (",
  "The agent stopped before it had finished. Please ask again. (",
  "The agent could not finish. Please ask again. (",
  "The agent needs a login. Please ask again once it has one. (",
  "The connection to the agent was lost, and it does not know what became of this run.",
  "The bridge was stopped before the agent had finished. Please ask again.",
  "The bridge could not read what it had kept of this answer, so it ends here. Please ask again.",
  "The agent could not be reached, so this message was not delivered.",
  "The agent refused this message: ",
];
const STOPPED = [
  "Stopped.",
  "Stopped before it began, so the agent did not get this message. Please send it again if it is still meant.",
];
// The bridge may add a paragraph behind the sentence, such as the model that answered.
const LAST_PARAGRAPHS = 2;

/** `failed`, `stopped`, `length`, `content_filter`, or null if it ended normally or is unknown. `stops` are the runs stopped on this page. */
export function endingOf(message, stops) {
  if (message.role !== "agent" || !message.isFinal) return null;
  switch (message.reason) {
    case "error": return "failed";
    case "cancelled": return "stopped";
    case "length": case "content_filter": return message.reason;
    case null: break;
    default: return null;
  }
  if (stops.has(message.interaction)) return "stopped";
  if (!message.interaction) return null;
  if (STOPPED.includes(message.text.trim())) return "stopped";
  const paragraphs = message.text.slice(-3_000).trimEnd().split("\n\n").slice(-LAST_PARAGRAPHS);
  return paragraphs.some((paragraph) => FAILURES.some((sentence) => paragraph.startsWith(sentence))) ? "failed" : null;
}
