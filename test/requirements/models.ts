// What must hold of models and the loop (issue 6).

export const MODEL_REQUIREMENTS = [
  {
    id: "L1",
    text: "text, thoughts and tool-call arguments stream alike from Anthropic Messages, OpenAI Chat and Responses, and Gemini, however their chunks are cut; what they sign goes back to them as it was",
  },
  {
    id: "L2",
    text: "the calls of an answer run in parallel where allowed; results go back in the model's order, exactly one per call, in each provider's form, pictures included",
  },
  {
    id: "L3",
    text: "usage and cost are told per model call, turn and session, with the tokens read from and written to the provider's cache",
  },
  {
    id: "L4",
    text: "the beginning of a conversation stays the same byte for byte, with cache markers where the provider wants them, and its cache is hit, measured by the usage it reports",
  },
  {
    id: "L5",
    text: "authentication, quota, rate limit, overload, context overflow, content filter, network down and malformed streams each become a readable message in the conversation and a proper stop reason or error, never an empty end_turn",
  },
  {
    id: "L6",
    text: "rate limit and overload are waited out visibly, as long as the provider says, a bounded number of times",
  },
  { id: "L7", text: "a stream that is cut in the middle of an answer is kept, marked and can be gone on from" },
  {
    id: "L8",
    text: "cancel aborts the model's request and the tools within 100 ms at every stage; the next prompt works and the transcript is valid for the provider",
  },
  {
    id: "L9",
    text: "seeded random cancels: the next prompt always works, and the transcript always validates for each provider",
  },
  {
    id: "L10",
    text: "a tool whose schema the provider refuses, named or not, is found, set aside and named to the person; the turn goes on, and it is not offered again until its definition changes",
  },
  {
    id: "L11",
    text: "a conversation of 200 turns with large tool results stays within the window, and the last turn can still read the first result by handle",
  },
  {
    id: "L12",
    text: "with a text result of 12 MB in a turn the next request to the model stays under 300 KB; over 20 turns with 500 tools the offered tools change only by appending, at a fifth of the cost of sending them all",
  },
  {
    id: "L13",
    text: "a turn ends with its true stop reason: the model's own end, a refusal, the output limit, the turn limit, repetition, cancel",
  },
  {
    id: "L14",
    text: "images and embedded resources of a prompt reach the models that take them and are named to those that do not",
  },
  {
    id: "L15",
    text: "keys of providers are never logged, never in a journal, never given to a child process",
  },
  {
    id: "L16",
    text: "found tools reach the model without breaking the provider's cache: in its own form where it has one, else through the stable wrapper",
  },
  { id: "L17", text: "with no network and no key the offline model serves every scenario of the spine" },
  {
    id: "L18",
    text: "how large a model's context is comes from the configuration, from the provider's list of models where it has one, and from a bundled table",
  },
] as const;
