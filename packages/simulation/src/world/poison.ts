/** How the service reports that a document is invalid: as it takes the batch in, for the whole batch later, or for itself. */
export type PoisonMode = "submit" | "batch" | "item";
