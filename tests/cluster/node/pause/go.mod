module logpersister/pause

go 1.24
