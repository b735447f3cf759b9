// What must hold for calls that go on at their servers as MCP tasks, in both eras.

export const TASK_REQUIREMENTS = [
  {
    id: "K1",
    text: "a tool that can only be called as a task is called as one; its states and messages are on the running card, and its result is the call's, once",
  },
  {
    id: "K2",
    text: "connections and sessions that are lost during a task cost nothing: it is asked for by its id over the next one, in both eras; a server that has forgotten it makes its outcome unknown, and nothing is called again",
  },
  {
    id: "K3",
    text: "after kill -9 of Tenon and session/load in a new process a call that goes on as a task is shown as running, its result arrives once, and the model is given it once, however often the session is loaded",
  },
  {
    id: "K4",
    text: "cancelling the turn, or the session after a load, cancels the task at its server; closing Tenon does not",
  },
  {
    id: "K5",
    text: "a task that fails, is given up by its server, outlives its time to live or wants input that nobody can give ends as a failed call or as an unknown outcome, with the reason",
  },
  {
    id: "K6",
    text: "what a task wants to know is put to the person as any other question of a server, once, while it runs",
  },
] as const;
