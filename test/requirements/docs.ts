// What must hold of the documents.

export const DOCS_REQUIREMENTS = [
  {
    id: "W1",
    text: "a newcomer who follows the README word by word gets a server, a tool called, an editor connected, and told why a broken server is broken",
  },
  { id: "W2", text: "every command in the documents runs and ends as they say" },
  { id: "W3", text: "every program in the documents compiles against what is published, and runs" },
] as const;
