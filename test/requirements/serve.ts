// What must hold of `tenon mcp serve`.

export const SERVE_REQUIREMENTS = [
  {
    id: "V300",
    text: "a plain MCP client gets the tools of all configured servers as one list, over stdio, in both protocol eras",
  },
  {
    id: "V301",
    text: "content, images, structured results, isError, errors of the protocol and progress of servers are passed on as they came",
  },
  { id: "V302", text: "what policy asks about is asked through the calling client, by the elicitation of its era" },
  {
    id: "V303",
    text: "a client without elicitation gets a refusal that says why and what to do; a rule or --yes lets the call through",
  },
  {
    id: "V304",
    text: "--search offers two tools, by which every other tool is found and called under the same policy",
  },
  { id: "V305", text: "Tenon's own tools are neither listed nor callable unless they are named" },
  { id: "V306", text: "clients of both eras are told when the list of tools changes, and not when it does not" },
  {
    id: "V307",
    text: "over HTTP the same is served in both eras; a wrong token, scope, Host, Origin or session is refused, and a revoked token ends what it had",
  },
  {
    id: "V308",
    text: "garbage, deep and huge messages, floods, repeated ids and answers to nothing end no server and hold up no other request",
  },
  { id: "V309", text: "the end of the input and every stop signal end it within seconds, and nothing of it is left" },
  { id: "V310", text: "a cancelled call is cancelled at its server, gets no answer, and the client goes on" },
  {
    id: "V311",
    text: "servers of a project are served only once they are trusted; one that fails costs the others nothing",
  },
  { id: "V312", text: "the server scenarios of the MCP conformance suite that apply to it pass" },
  { id: "V313", text: "an agent that knows nothing of it uses it as any MCP server" },
  { id: "V314", text: "what a server asks during a call is asked of the client whose call it is" },
  {
    id: "V315",
    text: "a client of the first MCP SDK (1.x) lists, calls, is asked and hears of changes, over stdio and over HTTP",
  },
  {
    id: "V316",
    text: "what is not offered cannot be called by any name while its server starts either; what is offered can be called from then on",
  },
  {
    id: "V317",
    text: "an entry that starts this very tenon mcp serve ends in words that say so, not in processes without end",
  },
  {
    id: "V318",
    text: "a client that left in the middle of a call is forgotten as any other; one whose servers still end takes its place until they have",
  },
  {
    id: "V319",
    text: "a client hears of changes of the resources it follows; a stream of change notices that ends leaves none followed",
  },
] as const;
