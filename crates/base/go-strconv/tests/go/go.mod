module gostrconv

go 1.26
