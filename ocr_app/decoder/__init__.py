"""SR-SWA: tensors and token ids only; nothing of documents or tokenizers."""
