-- When a gateway announces the question to the webhook, unless that is done by then. NULL if it is done, or no
-- gateway with a webhook asked the question.
ALTER TABLE questions ADD COLUMN announce_ms INTEGER;
