/** How the service reports an invalid document: at the submit, later for the whole batch, or for its own item. */
export type PoisonMode = "submit" | "batch" | "item";
