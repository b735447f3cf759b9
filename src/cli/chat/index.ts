// The door of the terminal client.
export { runChat } from "./chat.js";
